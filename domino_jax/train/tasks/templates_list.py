"""Lists of things."""

from domino_jax.train.tasks.grammar import lines

TEMPLATES = lines("""
List {3-12} {LISTED}.
Name {3-10} {LISTED}[.| and describe each in one sentence.| and say something about each of them.]
Give me {3-10} {LISTED}[.|, please.|, with a short explanation each.]
What are some {LISTED}?
{ASK} list {3-10} {LISTED}?
I need a list of {LISTED}. {LENGTH}
{^LISTED}: give me a list[.|, the best first.|, sorted from easy to hard.|, in alphabetical order.|, shortest entry first.]
Make a table of {3-8} {LISTED} with two columns: name and note.
Write a numbered list of {4-12} {LISTED}.
Which {LISTED} would you tell {AUDIENCE} about? Name {3-6}.
Top {3-10} {LISTED}, with one reason for each.
{HELLO} I am looking for {LISTED}. Do you know any?
Can you think of {LISTED} that most people do not know about?
Give {3-6} {LISTED}, one a line, without any explanation.
Create a checklist for {OCCASION}.
Create a checklist for {a JOB} on {DAY} morning.
List the steps of {SKILL}[.| for {AUDIENCE}.| in the right order.]
List the ingredients for {FOOD} for {2-12} people.
What do I need to buy for {FOOD} and {FOOD}? Make a shopping list.
List the pros and cons of {ISSUE}.
List {3-6} advantages and {3-6} disadvantages of {HOBBY} as a hobby.
What equipment do I need for {HOBBY}? {FORMAT}
List {3-8} words that come to mind when you think of {MOOD}.
Write down {4-10} questions that {AUDIENCE} might ask about {CONCEPT}.
What are the most important dates of {EVENT}? List them in order.
List {3-6} things that {CONCEPT} and {CONCEPT} have in common.
Name {3-7} people who were important for {EVENT}, with one line about each.
Give {3-6} examples of {CONCEPT}.
List {3-7} facts about {PERSON}.
List {3-6} books on {CONCEPT} that you would give to {AUDIENCE}.
Which tools does {a JOB} use every day? List at least {4-9}.
List everything I should know before traveling to {COUNTRY} in {MONTH}.
Write {3-8} one-line tips for {SKILL}.
""")
