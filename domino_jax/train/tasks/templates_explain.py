"""Explanations of concepts, machines, and questions why and how."""

from domino_jax.train.tasks.grammar import lines

TEMPLATES = lines("""
Explain {TOPIC}[.| in simple terms.| in your own words.]
Explain {TOPIC} to {AUDIENCE}.
[Please explain|Explain|Try to explain] {WHY} to {AUDIENCE}. {LENGTH}
What is {TOPIC}? {LENGTH}
What does {TOPIC} mean, and why does it matter?
{HELLO} what exactly is meant by {TOPIC}?
{^WHY}? {LENGTH}
[I have always wondered|I keep wondering|My son asked me|Nobody could tell me] {WHY}. [Can you explain it?|Do you know?|What is the \
answer?|Help me understand.]
Can you tell me {WHY}? {FORMAT}
How does {MACHINE} work?[ {LENGTH}|]
{ASK} explain how {MACHINE} works[?|, step by step?| to {AUDIENCE}?| without any formulas?]
I took {MACHINE} apart and do not understand it. What does each part do?
Describe what happens inside {MACHINE} when it is used. {FORMAT}
What is the idea behind {MACHINE}, and who came up with it?
Give me an everyday example of {CONCEPT}[.| and explain why it is one.]
Use an analogy to explain {TOPIC}[.| to {AUDIENCE}.]
Write [a short|an] introduction to {TOPIC} for {AUDIENCE}. {FORMAT}
{WHYASK} {ASK} explain {TOPIC}[?| in a few sentences?| with an example?]
{WHYASK} What do I need to know about {TOPIC}?
{WHYASK} What happened in {EVENT}, and why was it important?
Explain the causes of {EVENT}. {LENGTH}
What led to {EVENT}[?| and what came after it?]
How did {EVENT} change the lives of ordinary people? {FORMAT}
Tell me about {EVENT} as if I were {AUDIENCE}.
What would {AUDIENCE} need to know to understand {TOPIC}?
Clear up a common misunderstanding about {TOPIC}.
Why is {TOPIC} [important|hard to understand|often misunderstood|useful in practice]?
Where do we meet {CONCEPT} in daily life? {LENGTH}
Find an analogy between {CONCEPT} and {MACHINE}.
Explain {TOPIC} {3-5} times: each time for a reader who knows a little more.
Explain {TOPIC} in the style of {STYLE}.
What are the main parts of {TOPIC}? {FORMAT}
I think I understand {TOPIC}, but I could not explain it to {AUDIENCE}. Help?
Explain step by step {WHY}.
What is the short answer, and what is the long answer, to the question {WHY}?
Is it a myth or a fact that we know {WHY}? Explain.
{^AUDIENCE} asks: {WHY}? Write the reply.
Write a dialogue in which {NAME} explains to {NAME} {WHY}.
Describe {TOPIC} without using any technical words.
What do experts still not agree on about {TOPIC}?
Give a definition of {CONCEPT}, then {2-4} examples, then one thing that is often confused with it.
How would you explain {CONCEPT} with things from a kitchen?
What problem does {CONCEPT} solve or describe?
{ASK} walk me through {TOPIC}? [I get lost after the first step.|I only know the name.|Assume that I know basic math.|I learn best from \
examples.]
What is the role of {SUBSTANCE} in [everyday life|industry|the human body|nature]?
What is the task of {BODY} in the human body? {LENGTH}
How do doctors examine {BODY}? Explain it to {AUDIENCE}.
Why is {PERSON} remembered today? {LENGTH}
Explain the work of {PERSON} to {AUDIENCE}.
Explain how {ANIMAL} survives in its habitat. {FORMAT}
What makes {ANIMAL} special? {LENGTH}
Explain in {2-6} steps how {FOOD} is made.
What does a day in the life of {a JOB} look like? {LENGTH}
What do people mean when they say that {SKILL} takes practice?
""")
