"""What lists are asked of, what is written, and what ideas are wanted for."""

from domino_jax.train.tasks.grammar import words

LISTED = words(
    """countries in Africa; rivers in Europe; mammals that lay eggs; inventions of the 19th century; healthy snacks; board games for two;
    books for a long train ride; words that rhyme with light; words that rhyme with day; synonyms for happy; synonyms for important;
    adjectives for a storm; questions to ask in a job interview; questions to ask before renting an apartment; gifts under {10-50/5}
    dollars; gifts for {a JOB}; uses for old newspapers; uses for vinegar; things to pack for a week in {CITY}; ways to save water; ways
    to reduce food waste; signs of a good leader; signs of burnout; common grammar mistakes; common mistakes when {SKILL}; tips for
    {SKILL}; famous painters; composers of the Romantic era; musical instruments with strings; dishes from {COUNTRY}; facts about
    {COUNTRY}; facts about {ANIMAL}; facts about {PLANET}; facts about {BODY}; landmarks in {CITY}; tools every household needs; plants
    for a dark room; flowers that bloom in spring; trees with edible fruit; animals that are active at night; birds that cannot fly;
    metals; gases in the air; units of length; programming languages; file formats for images; Linux commands; keyboard shortcuts that
    save time; data structures; sorting algorithms; Git commands; Python built-in functions; HTML tags; causes of {EVENT}; consequences
    of {EVENT}; reasons to learn {HOBBY}; benefits of {HOBBY}; arguments for {ISSUE}; arguments against {ISSUE}; jobs that involve
    travel; skills {a JOB} needs; tasks in the day of {a JOB}; breakfast ideas with {INGREDIENT}; dinners with {INGREDIENT} and
    {INGREDIENT}; sandwich fillings; spices and dishes they suit; kinds of cheese; kinds of clouds; kinds of bread; winter sports;
    Olympic sports; team-building activities; icebreaker questions; conversation topics for a dinner; rules for a shared kitchen; chores
    for a six-year-old; indoor games for children; science experiments with things from the kitchen; holidays around the world; proverbs
    about time; idioms with the word hand; compound words with sun; words with double letters; palindromes; famous bridges; islands in
    the Mediterranean; deserts; volcanoes; lakes; capital cities in South America; languages spoken in India; ancient civilizations;
    Greek gods; Nobel Prize winners; women in science; turning points in history; famous trials; myths about health; stretches for
    people who sit all day; bodyweight exercises; ways to calm down before an exam; ways to thank a teacher; good habits; New Year's
    resolutions"""
)
IDEA = words(
    """a podcast about {HOBBY}; a short film set in {PLACE}; a school project on {CONCEPT}; a small business for {a JOB}; a birthday
    present for {a JOB}; a lesson about {CONCEPT}; a mobile app for {HOBBY}; a fundraising event; a children's book about {ANIMAL}; a
    blog about {FOOD}; a name for a cafe in {CITY}; a slogan for {THING}; a team game; a mural on a school wall; a newsletter read by
    {AUDIENCE}; a costume party; a fantasy novel; a weekend project with children; a science fair; reducing waste in an office; getting
    more visitors into a museum; a video series on {SKILL}; a new ice cream flavor; using an empty shop in {TOWN}; a birthday cake for a
    fan of {HOBBY}; a logo for {COMPANY}; making meetings shorter; attracting volunteers; a city without cars; a street festival; an
    escape room about {EVENT}; a board game about {CONCEPT}; a classroom debate on {ISSUE}; a garden on a balcony; welcoming new
    neighbors; a radio quiz about {COUNTRY}; keeping teenagers off their phones; a museum exhibit on {EVENT}; a short story about {a
    JOB}; selling {THING}; a song about {PLACE}; a workshop on {SKILL}"""
)
WISH = words(
    """ask for help with {HOBBY}; thank {them} for the help with a move; invite {them} to dinner on {DAY}; decline an invitation to
    {OCCASION}; congratulate {them} on a new job; say that I will be {10-50/5} minutes late; say sorry for forgetting a birthday; ask to
    borrow {THING}; cancel our plans for {DAY}; share the news that I am moving to {CITY}; ask for the recipe of {FOOD}; propose a trip
    to {COUNTRY}; return {THING} that I borrowed; ask for advice on {SKILL}; explain why I missed the party on {DAY}; suggest that we
    start {HOBBY} together; recommend a good book; wish {them} luck for an exam; ask whether I may stay for {2-9} nights in {MONTH};
    apologize for an argument about {ISSUE}; ask for a lift to the station on {DAY}; say thank you for {THING}; ask who can feed my cat
    in {MONTH}; say that I will visit {CITY} in {MONTH}"""
)
MAIL = words(
    """to my manager to ask for a day off on {DAY}; to a customer to apologize for a late delivery; to {COMPANY} to ask for a refund for
    {THING}; to a client in {COUNTRY} to remind them of an unpaid invoice of {50-900/10} dollars; to all customers of a shop in {CITY}
    to announce new opening times; to a supplier to ask about the price of {20-500/20} T-shirts; to my landlord to report a broken
    heater; to a professor to ask for a letter of recommendation; to a newspaper to cancel a subscription; to the whole team to postpone
    a meeting from {DAY} to {DAY}; to new colleagues to introduce myself as the new {JOB}; to a colleague in the {CITY} office to ask
    for feedback on a draft; to all participants to share the minutes of a meeting; to the town council to complain about a noisy
    building site; to my manager to ask for a raise; to {COMPANY} to resign from my job as {a JOB}; to a possible business partner to
    propose a lunch on {DAY}; to a rental company to order {10-90/5} chairs for an event; to a client to confirm an appointment on {DAY}
    at {8-17} o'clock; to {COMPANY} to apply for a position as {a JOB}; to a loyal customer to offer a discount of {5-40/5} percent; to
    subscribers to explain a price increase; to neighbors to invite them to the opening of a shop in {CITY}; to a customer in {COUNTRY}
    to answer a question about shipping; to all residents to warn about a power cut on {DAY}; to the members of a sports club to ask for
    volunteers for {OCCASION}; to a property manager to request a repair of the elevator; to the staff of {COMPANY} to announce a
    training on {CONCEPT}; to a teacher to ask for two more weeks for a report; to a hotel in {CITY} to book {2-9} rooms in {MONTH}; to
    an insurance company to report damage to {THING}; to the parents of a class to announce a trip to {CITY}; to {a JOB} I have never
    met to ask for advice on a career change; to the support desk of {COMPANY} because I cannot log in; to a job candidate to say no
    politely"""
)
PIECE = words(
    """a short story; a poem; a limerick; a haiku; a fable with a moral; the opening paragraph of a novel; a dialogue; a monologue; a song
    lyric; a bedtime story; a ghost story; a letter; a diary entry; a fairy tale; a comic sketch; a scene for the stage; a riddle; a
    ballad; a sonnet; a legend; a short speech; a postcard; a mystery in five sentences; the last page of an adventure; a free verse
    poem; an acrostic"""
)
PLOT = words(
    """{a JOB} who finds a map; {a JOB} who cannot lie; two strangers on a night train; {ANIMAL} that wants to see the sea; a town where it
    never rains; a clock that runs backwards; {a JOB} and {a JOB} who swap jobs for a day; a letter that arrives {10-90/10} years late;
    a robot that learns {HOBBY}; {NAME}, who opens a shop in {PLACE}; the last library on Earth; a lost glove; {ANIMAL} and {ANIMAL} who
    become friends; a painting that changes every night; a very small dragon; a family dinner that goes wrong; a lighthouse without a
    light; {NAME}, who hears the thoughts of plants; a football match on the Moon; a door that was not there yesterday; an old violin; a
    storm on the first day of school; {NAME} and the secret of {THING}; a city under the sea; a wrong phone call; a village that forgets
    its name; a race between {ANIMAL} and {ANIMAL}; {a JOB} on the first day at work; a bridge that nobody may cross; a recipe that
    makes people tell the truth"""
)
MOOD = words(
    "hope; loneliness; joy; rain; autumn; the sea; friendship; homesickness; snow; courage; time; silence; a city at night; spring; the \
stars"
)
TWIST = words(
    """a surprise at the end; a happy ending; no adjectives; only short sentences; a talking animal; at least one joke; a quiet ending; the
    word '{TONE}' somewhere in it; two narrators; a first sentence that is a question; dialogue only; the past tense throughout; the
    present tense throughout; a first-person narrator; a repeated last line; a sad middle; one rhyme in every second line; a character
    named {NAME}"""
)
