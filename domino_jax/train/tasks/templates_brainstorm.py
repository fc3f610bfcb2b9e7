"""Ideas, names, questions, what-ifs."""

from domino_jax.train.tasks.grammar import lines, words

TEMPLATES = lines("""
Brainstorm {4-15} ideas for {IDEA}.
Give me {3-12} ideas for {IDEA}.[ {LENGTH}|]
I need ideas for {IDEA}. [Be creative.|Nothing expensive, please.|Surprise me.|Keep it realistic.|It must work in {MONTH}.]
{HELLO} can we brainstorm about {IDEA}?
What could be done with {IDEA}? Think of {3-8} unusual directions.
Come up with {2-6} unusual ideas for {IDEA}, and say which one you like best.
Suggest {4-12} names for {NAMED}.
Think of a name and a slogan for {NAMED}.
What are some creative uses of {THING}[ apart from the usual one|]?
Find {3-8} ways to use {INGREDIENT} that is about to go bad.
How many uses for {MACHINE} that no longer works can you think of? Name {4-9}.
What if {WHATIF}? [Describe the first day.|List {3-7} consequences.|Who would profit, and who would lose?|Write about it.]
Imagine that {WHATIF}. How would {a JOB} notice?
Imagine that {WHATIF}. {LENGTH}
Invent {a INVENTED} and describe it in {50-150/10} words.
Invent {3-6} superheroes whose power has to do with {HOBBY}.
Combine {MACHINE} and {MACHINE} into a new product. What could it do?
Suggest {3-8} topics for an essay about {EVENT}.
Suggest {3-8} research questions about {CONCEPT}.
Give me {5-12} writing prompts about {MOOD}.
Give me {4-10} titles for {PIECE} about {MOOD}.
Think of {3-7} questions a journalist could ask {a JOB}.
Think of {3-7} questions that nobody asks about {CONCEPT}.
How could {COMPANY} win customers who love {HOBBY}? {FORMAT}
How might {a JOB} use {CONCEPT} at work? Give {2-5} ideas.
Propose {3-6} metaphors for {CONCEPT}.
Propose {3-6} experiments to show {CONCEPT} to {AUDIENCE}.
Play advocate of the devil: find {3-6} weak points of the idea of {IDEA}.
Make this idea better: {IDEA} with only {20-500/20} dollars.
Take the word "{MOOD}" and write down {6-15} associations, then make a headline from three of them.
Describe {2-4} games that can be played with {THING} and {THING}.
What gift would suit {a JOB} who loves {HOBBY}? Name {3-7}.
Plan the plot of a film about {PLOT} in {4-8} sentences.
Invent a festival that could be celebrated in {PLACE}.
""")
NAMED = words(
    """a bakery in {CITY}; a band that plays {MOOD_MUSIC}; a dog that is afraid of {MACHINE}; a podcast about {HOBBY}; a startup that sells
    {THING}; a small hotel in {COUNTRY}; a football team of {JOB_MANY}; a newsletter about {CONCEPT}; a boat; a planet in a science
    fiction novel; a cafe with {20-90/10} kinds of tea; an app for {SKILL}; a wizard who loves {FOOD}; a robot that helps with {HOBBY};
    a dragon with a cold; a village in a fantasy novel; a school magazine; a new color between blue and green"""
)
MOOD_MUSIC = words("slow jazz; loud rock; songs about rain; music on kitchen tools; folk songs from {COUNTRY}")
JOB_MANY = words("teachers; bakers; librarians; nurses; poets; retired pilots; beekeepers")
WHATIF = words(
    """nobody needed to sleep; animals could vote; money disappeared overnight; it rained every {DAY}; all people spoke the same language;
    the internet failed for {2-30} days; humans could fly; trees could walk; {MACHINE} had never been invented; {CITY} had no cars; we
    could talk to {ANIMAL}; gravity were half as strong; every house had {a ADJECTIVE} robot; school started at noon; the Moon were
    twice as close; plastic had never been invented; we had to grow all our food ourselves; people lived for {150-400/50} years;
    everybody could read minds on {DAY}s; {PERSON} lived today; {EVENT} had never happened; working more than {3-5} hours a day were
    forbidden"""
)
INVENTED = words(
    """holiday about {MOOD}; animal that lives in {PLACE}; sport that is played in {PLACE}; proverb about {THING}; machine that helps {a
    JOB}; board game about {SKILL}; dish with {INGREDIENT} and {INGREDIENT}; myth about {ANIMAL}; school subject that everybody needs;
    law against bad weather; tradition for {MONTH}"""
)
