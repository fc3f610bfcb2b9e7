"""Questions of general knowledge, most with short answers."""

from domino_jax.train.tasks.grammar import lines, words

TEMPLATES = lines("""
What is the capital of {COUNTRY}[?|, and what is it known for?|? Name two sights there.]
Which countries border {COUNTRY}?
Which languages [are spoken|do people speak|are taught at school] in {COUNTRY}?
What currency is used in {COUNTRY}?
On which continent is {COUNTRY}? Name one of its neighbors.
What is {COUNTRY} famous for? {LENGTH}
What is the climate like in {COUNTRY} in {MONTH}?
Describe the flag of {COUNTRY}.
What do people eat for breakfast in {COUNTRY}?
In which country is {CITY}, and how many people live there?
Which river flows through {CITY}, if any?
How do you get from {CITY} to {CITY}? By which means would you travel?
What time is it in {CITY} when it is {1-12} o'clock in the afternoon in {CITY}?
Who was {PERSON}?[ {LENGTH}|]
When and where was {PERSON} born?
What is {PERSON} best known for?
Did {PERSON} live before or after {PERSON}?
Who wrote {BOOK}, and what is it about?
Summarize the plot of {BOOK}. {LENGTH}
Who is the main character of {BOOK}?
When did {EVENT} take place?
Who took part in {EVENT}?
Which came first, {EVENT} or {EVENT}?
What is the chemical symbol of {SUBSTANCE}, if it has one? And what is it used for?
Where is {SUBSTANCE} found or made?
Is {SUBSTANCE} a metal? What are its properties?
How far is {PLANET} from the Earth?
How long is a day on {PLANET}?
Could people live on {PLANET}? {LENGTH}
What does {ANIMAL} eat?
How long does {ANIMAL} live?
How does {ANIMAL} sleep?
Where in the world does {ANIMAL} live? {LENGTH}
Is {ANIMAL} dangerous for humans?
How big is {ANIMAL} compared with {ANIMAL}?
What is the name for a baby of {ANIMAL}?
Who invented {MACHINE}?
When was {MACHINE} invented, and what did people use before?
What are the parts of {MACHINE} called?
Where does {FOOD} come from?
What goes well with {FOOD}?
How many calories are there in {50-400/25} grams of {INGREDIENT}, roughly?
How should {INGREDIENT} be stored?
Can you freeze {INGREDIENT}?
What is the origin of the word "{HOBBY}"?
What does the idiom "{IDIOM}" mean? Use it in a sentence.
What is the opposite of "{TONE}"? Give {2-5} words.
Give {2-6} synonyms of "{TONE}".
Use the words "{TONE}" and "{HOBBY}" in one sentence.
What is the past tense of "{VERB}"? Write a sentence with it.
Write the number {101-9999} in words.
What does a good {JOB} have to know?
How much does {a JOB} earn in {COUNTRY}, roughly?
What training does {a JOB} need?
True or false: {FACT}?
Is it true that {FACT}? Explain briefly.
{^FACT}. True or false, and why?
What happens to {BODY} when we [run|sleep|are afraid|fast|grow old]?
What are the rules of {GAME}? {LENGTH}
How many players does one need for {GAME}?
Who was born first: {PERSON} or {PERSON}?
What is {CONCEPT} called in other languages? Name {2-4}.
What would I see in {CITY} on a rainy {DAY}?
Ask me {3-6} trivia questions about {COUNTRY}, with answers at the end.
""")
IDIOM = words(
    """break the ice; bite the bullet; a piece of cake; spill the beans; once in a blue moon; under the weather; the elephant in the room;
    hit the nail on the head; barking up the wrong tree; cost an arm and a leg; kill two birds with one stone; let the cat out of the
    bag; burn the midnight oil; the last straw; cut corners; a blessing in disguise; pull someone's leg; miss the boat; get cold feet;
    add fuel to the fire; turn over a new leaf; a storm in a teacup"""
)
VERB = words(
    """go; swim; teach; buy; fly; bring; think; write; begin; catch; forget; grow; hide; lie; ride; shake; speak; steal; tear; wake; wear;
    draw; fall"""
)
GAME = words(
    """chess; checkers; backgammon; dominoes; poker; tennis; volleyball; basketball; cricket; badminton; hide and seek; rummy; handball;
    curling; water polo; baseball; go; tic-tac-toe; darts; petanque; bowling; ice hockey; rugby; fencing; table tennis"""
)
FACT = words(
    """bats are blind; the Great Wall of China can be seen from the Moon with the naked eye; water boils at a lower temperature on a
    mountain; goldfish remember things for only three seconds; humans use only ten percent of their brains; lightning never strikes the
    same place twice; sound travels faster in water than in air; a tomato is a fruit; bulls get angry when they see red; Venus is hotter
    than Mercury; sharks are mammals; glass is made from sand; diamonds are made of carbon; an octopus has three hearts; the Sahara is
    the largest desert on Earth; reading in dim light ruins the eyes; bananas grow on trees; hot air rises; penguins live at the North
    Pole; spiders are insects; the Amazon is the longest river in the world; hair and nails keep growing after death; Mount Everest
    grows every year; a year on Mars is longer than a year on Earth; honey can be eaten after many years; the Eiffel Tower is taller in
    summer; ostriches bury their heads in the sand; plants breathe in oxygen at night; gold is heavier than iron; camels store water in
    their humps"""
)
