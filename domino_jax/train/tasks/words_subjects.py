"""What is asked about: concepts, workings, questions why and how, history, skills, things of every day."""

from domino_jax.train.tasks.grammar import words

CONCEPT = words(
    """photosynthesis; opportunity cost; gravity; supply and demand; natural selection; the water cycle; inflation; compound interest; the
    placebo effect; plate tectonics; entropy; democracy; machine learning; recursion; the greenhouse effect; osmosis; irony; herd
    immunity; blockchain; the scientific method; cognitive dissonance; probability; the food chain; friction; magnetism; biodiversity;
    checks and balances; metaphor; perspective in painting; radioactive decay; confirmation bias; public key cryptography; monopoly;
    erosion; the nitrogen cycle; standard deviation; prime numbers; the Doppler effect; kinetic energy; symbiosis; federalism; version
    control; object-oriented programming; the stock market; insulin; antibiotic resistance; the carbon cycle; sleep cycles; emotional
    intelligence; the bystander effect; sunk costs; comparative advantage; superconductivity; genetic drift; mitosis; enzymes;
    fermentation; buoyancy; logarithms; derivatives; matrices; Bayes' theorem; correlation and causation; the law of large numbers; game
    theory; the prisoner's dilemma; existentialism; stoicism; utilitarianism; the social contract; civil disobedience; separation of
    powers; soft power; fiscal policy; mortgages; insurance; double-entry bookkeeping; depreciation; a balance sheet; cloud computing;
    open source; an API; caching; hash tables; binary search; encryption; the internet of things; neural networks; overfitting; A/B
    testing; technical debt; containers in software; unit testing; minimalism; haiku; rhythm and meter; counterpoint; jazz
    improvisation; impressionism; cubism; the golden ratio; color theory; satire; magical realism; the hero's journey; folklore; myth;
    dialects; grammatical gender; idioms; etymology; body language; active listening; growth mindset; procrastination; burnout;
    mindfulness; habit formation; group think; the immune system; blood pressure; cholesterol; allergies; vaccines; metabolism;
    circadian rhythm; muscle memory; homeostasis; crop rotation; composting; pollination; permaculture; desalination; renewable energy;
    nuclear fusion; hydropower; geothermal heat; ocean acidification; invasive species; migration of birds; camouflage; echolocation;
    bioluminescence; hibernation; keystone species; tides; monsoons; ocean currents; latitude and longitude; time zones; leap years;
    continental drift; volcanoes; earthquakes; fossils; urban sprawl; zoning; public transport; supply chains; just-in-time production;
    branding; customer loyalty; price elasticity; negotiation; delegation; agile development; brainstorming; feedback loops; systems
    thinking; critical thinking; logical fallacies"""
)
TOPIC = (*CONCEPT, *words(
    """the Big Bang; dark matter; black holes; the periodic table; the speed of light; the Pythagorean theorem; gross domestic product; the
    domain name system; the ozone layer; the Gulf Stream; the Milky Way; the northern lights; the Bermuda Triangle; the Rosetta Stone;
    the International Space Station; the European Union; the Universal Declaration of Human Rights; the human genome; the Richter scale;
    the Turing test; the metric system; the Gregorian calendar; the Olympic Games; the Nobel Prize; absolute zero; pi; the number zero""",
))  # fmt: skip
MACHINE = words(
    """a refrigerator; a bicycle gear; a microwave oven; a steam engine; a jet engine; a suspension bridge; a solar panel; a wind turbine;
    a touch screen; a thermostat; a lock and key; a zipper; a toaster; a piano; a violin; a camera; a telescope; a microscope; a
    compass; a barometer; a mechanical watch; a sewing machine; a washing machine; a vacuum cleaner; an elevator; an escalator; a
    submarine; a hot air balloon; a helicopter; a sailing boat; a canal lock; a water tower; a nuclear power plant; a battery; a light
    bulb; an LED; a laser; a barcode scanner; a printer; a hard disk; a search engine; GPS; Wi-Fi; a mobile phone network; a credit card
    payment; a hearing aid; a pacemaker; an MRI scanner; a smoke detector; a fire extinguisher; a pressure cooker; a coffee machine; a
    dishwasher; a parachute; a car brake; a hybrid car; an electric motor; a combustion engine; a heat pump; an airbag; a traffic light;
    a sundial; a printing press; a loom; a pulley; a siphon; a dam; a seismograph; a spam filter; a recommendation system; a compiler; a
    vending machine; a metal detector; a 3D printer; a quartz clock; a noise-cancelling headphone; a pair of glasses; a ballpoint pen"""
)
WHY = words(
    """why the sky is blue; why leaves change color in autumn; why ice floats; why we dream; why cats purr; why onions make us cry; why the
    sea is salty; why bread rises; why we have seasons; why the moon changes its shape; why some metals rust; why popcorn pops; why soap
    cleans; why we yawn; why mosquito bites itch; why airplanes leave white trails; why stars twinkle; why deserts are cold at night;
    why we need sleep; why music makes us emotional; why some people are left-handed; why cheese has holes; why milk turns sour; why
    salt melts ice on roads; why bees make honey; why birds sing in the morning; why fish do not freeze in winter; why languages die
    out; why prices end in 99; why keyboards are not in alphabetical order; why golf balls have dimples; why manhole covers are round;
    why cities are warmer than the countryside; why old books smell; why wet sand is darker; why rivers bend; why honey does not spoil;
    why we get goosebumps; why flamingos are pink; why zebras have stripes; why some fruits float; why glass is transparent; why thunder
    comes after lightning; why mirrors swap left and right; why hot water sometimes seems to freeze fast; why we forget names so easily;
    why laughter is contagious; why spicy food burns; why concrete cracks; why wood burns and stone does not; why tea gets cold; why
    magnets stick to the fridge; why the ocean has tides; why some countries drive on the left; why paper cuts hurt so much; why dogs
    wag their tails; how bees find their way home; how a seed knows which way is up; how whales sleep; how spiders make webs; how
    chameleons change color; how trees drink water; how vaccines train the body; how the heart beats; how bones heal; how the eye sees
    color; how we taste food; how memory works; how clouds form; how snowflakes get their shape; how pearls grow; how caves form; how
    coal was made; how glass is made; how paper is made; how chocolate is made; how soap is made; how steel is made; how cheese is made;
    how tea is processed; how banks create money; how elections are counted; how laws are made; how a company goes public; how insurance
    companies set prices; how airlines set ticket prices; how letters reach their address; how a newspaper is produced; how maps are
    drawn; how calendars were invented; how numbers got their names; how alphabets spread; how children learn to talk; how sign
    languages work; how codes are broken; how archaeologists date what they find; how astronauts sleep; how satellites stay up; how
    planets are discovered; how far away stars are measured; how weather is forecast; how hurricanes form; how sand dunes move; how
    rainbows form; how coral reefs grow; how lakes freeze; how bridges carry weight; how tunnels are dug; how skyscrapers stand in the
    wind; how elevators stay safe; how a camera focuses; how computers store pictures; how music is compressed; how passwords are
    stored; how search engines rank pages; how chess programs think; how translation programs work; how self-driving cars see; how video
    calls travel; how touch screens feel a finger"""
)
EVENT = words(
    """the French Revolution; the fall of the Berlin Wall; the Industrial Revolution; the invention of the printing press; the Moon
    landing; the Black Death; the building of the pyramids; the Silk Road; the Renaissance; the fall of the Roman Empire; the First
    World War; the Great Depression; the Suez Crisis; the Meiji Restoration; the abolition of slavery; the women's suffrage movement;
    the discovery of penicillin; the Cold War; the Russian Revolution; the unification of Italy; the Boston Tea Party; the eruption of
    Vesuvius; the Great Fire of London; the gold rush in California; the Mexican Revolution; the independence of India; the end of
    apartheid; the Space Race; the Cuban Missile Crisis; the Viking voyages; the Crusades; the Magna Carta; the Reformation; the
    Enlightenment; the Congress of Vienna; the Irish famine; the opening of the Panama Canal; the Chernobyl disaster; the birth of the
    internet; the Harlem Renaissance; the Dust Bowl; the first flight of the Wright brothers; the Ottoman conquest of Constantinople;
    the Opium Wars; the partition of Africa; the founding of the United Nations; the Marshall Plan; the oil crisis of 1973; the
    Hanseatic League; the Mongol Empire"""
)
SKILL = words(
    """baking sourdough bread; playing chess; learning the guitar; running a first marathon; growing tomatoes; public speaking; speed
    reading; watercolor painting; learning Spanish; touch typing; knitting a scarf; taking better photos; budgeting; cooking for one;
    writing short stories; learning to swim as an adult; keeping a journal; fixing a bicycle; repairing a dripping tap; training a
    puppy; bird watching; juggling; learning to code; making cheese at home; brewing coffee; ironing shirts; folding origami; playing
    the piano; mental arithmetic; negotiating a salary; writing a CV; preparing for a job interview; saying no politely; remembering
    names; waking up early; meditating; doing push-ups; hiking alone; packing a suitcase; reading maps; sharpening knives; restoring old
    furniture; sewing on a button; making pasta from scratch; cycling to work; stargazing; keeping bees; pruning roses; making a
    podcast; giving feedback; running a meeting; studying for exams; learning to draw faces; dancing salsa; singing in tune; solving
    crosswords; playing table tennis; camping in winter; giving a wedding speech; planning a garden; organizing a closet; moving to a
    new city; saving energy at home; buying a used car; learning to drive; making new friends; caring for an old cat; making a website;
    editing videos; foraging for mushrooms; rock climbing"""
)
THING = words(
    """a reusable water bottle; a folding bicycle; a desk lamp; a pair of hiking boots; a notebook; a backpack; a rain jacket; an electric
    kettle; a wool blanket; a garden hose; a camping stove; a board game; a paper calendar; a fountain pen; a cast-iron pan; a yoga mat;
    a bird feeder; a bluetooth speaker; an alarm clock; a phone stand; a set of kitchen knives; a lunch box; a bookshelf; a potted fern;
    a handmade candle; a travel pillow; a baby carrier; a dog leash; a standing desk; a jar of honey; a chess set; a scooter; a sunhat;
    a tool box; a language app; a budget app; a recipe app; a sleep tracker; a robot vacuum; a solar charger; an umbrella; a teapot"""
)
FOOD = words(
    """lentil soup; apple pie; vegetable curry; mushroom risotto; pancakes; fried rice; potato salad; banana bread; chili; hummus; lasagna;
    tomato soup; fish tacos; omelette; roast chicken; pumpkin soup; falafel; pizza dough; oatmeal; carrot cake; dumplings; paella;
    ratatouille; bean stew; noodle soup; cheesecake; guacamole; shakshuka; spinach quiche; rice pudding; baked salmon; flatbread;
    coleslaw; gnocchi"""
)
INGREDIENT = words(
    """eggs; rice; chickpeas; tomatoes; spinach; potatoes; carrots; onions; garlic; lemons; cheese; yogurt; lentils; noodles; mushrooms;
    peppers; zucchini; tuna; chicken; tofu; apples; bananas; oats; honey; beans; cabbage; basil; ginger; bread; cream; almonds; peas;
    corn"""
)
ANIMAL = words(
    """an octopus; a snow leopard; a barn owl; a sea turtle; a hedgehog; an elephant; a penguin; a wolf; a hummingbird; a honeybee; a
    giraffe; a bat; a salmon; a crocodile; a kangaroo; a sloth; a dolphin; a camel; a chameleon; a polar bear; an axolotl; a beaver; a
    raven; a seahorse; a red fox; a blue whale; an ant colony; a jellyfish; an albatross; a mole; a rabbit; a tortoise; a squid; a lynx;
    a platypus; an eel"""
)
HOBBY = words(
    """photography; gardening; chess; cycling; pottery; bird watching; cooking; hiking; painting; reading; swimming; model trains; baking;
    knitting; astronomy; dancing; board games; fishing; writing; running; woodworking; climbing; singing; collecting stamps; sailing;
    yoga"""
)
ISSUE = words(
    """homework in primary school; a four-day working week; free public transport; school uniforms; zoos; cars in city centers; working
    from home; video games for children; tipping in restaurants; daylight saving time; voting at sixteen; nuclear power; plastic
    packaging; electric scooters; exams with open books; tourism in small towns; social media for teenagers; a tax on sugar; open
    offices; electronic voting; eating meat every day; a universal basic income; learning Latin; paper books; grades in art classes;
    cashless shops; space travel; keeping pets in apartments; online courses; mandatory volunteering; automatic updates; night trains;
    fast fashion; AI in schools"""
)
GOAL = words(
    """save {200-5000/100} dollars this year; run ten kilometers without a break; read {12-60/4} books this year; learn basic Italian
    before a trip; eat more vegetables; spend less time on my phone; find a new job; sleep eight hours a night; keep my desk tidy; write
    a novel; lose my fear of flying; start a small vegetable garden; get better at math; drink less coffee; call my parents more often;
    finish my thesis; learn to cook {5-20} dishes; cut my electricity bill; get a driving licence; declutter my apartment; play one song
    on the piano; meet new people after a move; become a better listener; stop biting my nails; swim a kilometer; prepare for a half
    marathon; build a portfolio; learn Python; get a promotion; be on time; pay back a loan of {1000-9000/500} dollars; keep a
    houseplant alive; learn {10-40/5} birds"""
)
OCCASION = words(
    """a birthday party for {5-40} people; a picnic in the park; a weekend in {CITY}; a school trip to a museum; a wedding with a small
    budget; a team offsite; a garage sale; a book club evening; a family reunion; a camping trip with children; a neighborhood festival;
    a farewell party; a science fair; a charity run; a week of vegetarian dinners; a movie night; a road trip through {COUNTRY}; a baby
    shower; an open day at a small company; a surprise party; a three-course dinner; a job fair; a first date; a move to a new
    apartment; a music lesson; a rainy Sunday with two kids; a study group; a beach cleanup; a housewarming; a {3-10}-day trip to
    {COUNTRY}; a conference talk"""
)
PROBLEM = words(
    """my neighbor plays loud music at night; I always lose my keys; I cannot fall asleep before two; my plants keep dying; I am too shy to
    speak in meetings; my laptop is slow; my kids do not want to eat vegetables; I spend too much on takeaway food; I forget what I
    read; my bicycle chain keeps falling off; my roommate never washes the dishes; I have a job interview on {DAY}; my bread does not
    rise; I get bored of every hobby; I have to share a small kitchen with {3-6} people; my phone battery is empty by noon; I feel tired
    every afternoon; my cat scratches the sofa; I put off everything until the last day; I have two job offers; my team misses
    deadlines; I cannot say no; my shower drain is blocked; I have {20-90/10} dollars left until payday; my dog barks at visitors; I
    moved and know nobody here; my windows fog up in winter; I keep getting the same answer wrong in tests; my desk is a mess; my knees
    hurt after running; I hate small talk; my garden is full of snails; my handwriting is hard to read; I argue with {RELATION} about
    money; my flight was cancelled"""
)
BOOK = words(
    """Romeo and Juliet; Don Quixote; Pride and Prejudice; Moby-Dick; The Odyssey; Frankenstein; War and Peace; Hamlet; Jane Eyre; Dracula;
    Les Miserables; The Divine Comedy; Great Expectations; Crime and Punishment; Faust; Gulliver's Travels; Robinson Crusoe; Anna
    Karenina; Candide; Treasure Island; Macbeth; The Iliad; Alice in Wonderland; Around the World in Eighty Days; The Time Machine;
    Walden"""
)
PERSON = words(
    """Marie Curie; Isaac Newton; Leonardo da Vinci; Cleopatra; Nelson Mandela; Ada Lovelace; Charles Darwin; Mozart; Frida Kahlo; Galileo
    Galilei; Florence Nightingale; Mahatma Gandhi; Albert Einstein; Rosa Parks; Aristotle; Simon Bolivar; Johannes Gutenberg; Alan
    Turing; Rumi; Amelia Earhart; Confucius; Beethoven; Abraham Lincoln; Joan of Arc; Nikola Tesla; Louis Pasteur; Ibn Battuta; Hypatia;
    Vincent van Gogh; Jane Goodall; Marco Polo; Rosalind Franklin; Genghis Khan; Emmy Noether; William Shakespeare; Socrates; Katherine
    Johnson"""
)
SUBSTANCE = words(
    """hydrogen; helium; carbon; oxygen; sodium; iron; copper; silver; gold; mercury; lead; nitrogen; calcium; aluminium; zinc; tin;
    silicon; neon; chlorine; uranium; titanium; potassium; sulfur; nickel; water; salt; glass; rubber; paper; steel; bronze; concrete;
    silk; wool"""
)
BODY = words(
    "the heart; the liver; the lungs; the skin; the kidneys; the brain; the stomach; red blood cells; the pancreas; the spine; bones"
)
PLANET = words("Mercury; Venus; Mars; Jupiter; Saturn; Uranus; Neptune; the Moon; the Sun; Pluto; Europa; Titan")
