"""Pairs to compare, groups of three and four, and what they may be held against."""

from domino_jax.train.tasks.grammar import words

CHOICE = words(
    """renting and buying a home; tea and coffee; cats and dogs; trains and planes; Python and JavaScript; debit and credit cards; e-books
    and paper books; stocks and bonds; SQL and NoSQL databases; running and cycling; gas and electric stoves; freelancing and a
    permanent job; city life and country life; solar and wind power; butter and olive oil; cotton and wool; acrylic and oil paint;
    summer and winter holidays; public and private schools; sprint and marathon training; yoga and pilates; whole grain and white bread;
    tablets and laptops; phones and cameras; desktop and laptop computers; buses and trams; hotels and hostels; tents and caravans;
    ballet and modern dance; classical music and jazz; savings accounts and investment funds; leasing and buying a car; cast iron and
    stainless steel pans; chess and go; football and rugby; squash and tennis; television and radio; newspapers and podcasts; online and
    classroom learning; small and large companies"""
)
PAIR = (*CHOICE, *words(
    """a novel and a short story; mitosis and meiosis; weather and climate; a virus and a bacterium; a list and a tuple in Python; a
    democracy and a republic; baking soda and baking powder; speed and velocity; mass and weight; alligators and crocodiles; frogs and
    toads; comets and asteroids; a violin and a viola; capitalism and socialism; affect and effect; ethics and morals; jam and
    marmalade; a lake and a pond; TCP and UDP; a stack and a queue; compilers and interpreters; REST and GraphQL; Git merge and Git
    rebase; threads and processes; HTTP and HTTPS; lists and sets; recursion and iteration; unit tests and integration tests; meditation
    and sleep; islands and peninsulas; arteries and veins; empathy and sympathy; memory and imagination; leadership and management;
    Impressionism and Expressionism; prose and poetry; a simile and a metaphor; comedy and tragedy; nuclear fission and fusion; acids
    and bases; plant and animal cells; reptiles and amphibians; bees and wasps; moths and butterflies; ravens and crows; dolphins and
    sharks; rabbits and hares; lions and tigers; ancient Athens and Sparta; the Roman Republic and the Roman Empire; the Renaissance and
    the Middle Ages; a hammer and a mallet; fiction and memoir""",
))  # fmt: skip
ASPECT = words(
    """cost; everyday use; history; advantages and drawbacks; ease of learning; effect on the environment; safety; health; speed;
    durability; popularity; what beginners should know; typical mistakes; the long term; comfort; flexibility; when to choose which; how
    they came about"""
)
OPTIONS = words(
    """a bicycle, a scooter or a bus pass; Spanish, German or Japanese; a piano, a guitar or a flute; a dog, a cat or a parrot; wood, tiles
    or carpet; the mountains, the sea or a big city; a tablet, a laptop or a desktop; yoga, swimming or running; a camera, a drone or a
    phone; pasta, rice or potatoes; Python, Java or Rust; biology, law or economics; gas, wood or electric heating; a flat in the
    center, a house in the suburbs or a farm; a savings account, index funds or gold; evening classes, a book or an online course;
    tents, huts or hotels"""
)
