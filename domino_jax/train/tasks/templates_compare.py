"""Comparisons and choices."""

from domino_jax.train.tasks.grammar import lines, words

TEMPLATES = lines("""
Compare {PAIR}.[ {FORMAT}| {LENGTH}|]
What is the difference between {PAIR}?[ {LENGTH}|]
Compare {CHOICE} with regard to {ASPECT}[.| and {ASPECT}.]
{PAIR}: what do they have in common, and where do they differ?
Explain the difference between {PAIR} to {AUDIENCE}.
Make a table that compares {CHOICE}. Rows: {ASPECT}, {ASPECT} and {ASPECT}.
How do {CHOICE} differ in {ASPECT}?
I always mix up {PAIR}. [Is there a trick to tell them apart?|What is the difference?|Can you help me remember which is which?]
{HELLO} what should I know about the differences between {PAIR}?
Which is better: {OPTIONS}? [I care most about {ASPECT}.|It is for {AUDIENCE}.|My budget is {100-3000/100} dollars.|Ask me nothing, just \
decide.]
I cannot decide between {OPTIONS}. Help me choose.
Give the pros and cons of {OPTIONS}. {FORMAT}
Rank {OPTIONS} by {ASPECT} and explain your ranking.
Compare {CITY} and {CITY} as a place to [live|study|spend a weekend|grow old|start a company|raise children].
Compare the climate of {COUNTRY} with that of {COUNTRY}.
Compare {PERSON} and {PERSON}. {LENGTH}
What would {PERSON} and {PERSON} have talked about at dinner?
Compare {EVENT} and {EVENT}: causes, course and consequences.
How does {MACHINE} differ from {MACHINE}? {LENGTH}
What do {CONCEPT} and {CONCEPT} have to do with each other, and how do they differ?
Compare {ANIMAL} and {ANIMAL} in a table: size, food, habitat, lifespan.
Is the job of {a JOB} harder than that of {a JOB}? Compare the two.
Compare {FOOD} and {FOOD}: which is [healthier|cheaper|quicker|better for guests]?
Which is the better hobby for {AUDIENCE}, {HOBBY} or {HOBBY}?
Write a short debate between two people about {CHOICE}.
Write a balanced paragraph about {ISSUE}: one side, the other side, your conclusion.
What are the strongest arguments for and against {ISSUE}?
Compare a letter and an e-mail as a way to {ERRAND_BARE}.
{NAME} prefers the first, {NAME} the second of {CHOICE}. Write what each of them might say.
When would you choose one over the other: {CHOICE}? Give {2-4} situations.
Name {2-5} similarities and {2-5} differences between {PAIR}.
""")
ERRAND_BARE = words("apologize; ask for a favor; say goodbye; complain; apply for a job; thank somebody; give bad news")
