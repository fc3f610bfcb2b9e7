"""Plans and advice."""

from domino_jax.train.tasks.grammar import lines, words

TEMPLATES = lines("""
I want to {GOAL}. [Where do I start?|Make a plan for {2-12} weeks.|What are the first three steps?|What usually goes wrong?|How long will \
it take?]
Make a {2-12}-week plan to {GOAL}. {FORMAT}
How can I {GOAL}? {LENGTH}
Help me plan {OCCASION}. [My budget is {50-2000/50} dollars.|It should be in {MONTH}.|It must be easy to prepare.|Two of us are \
vegetarians.|We have one day for it.]
Plan {OCCASION} for me. {FORMAT}
{PROBLEM_SAID} [What should I do?|What would you advise?|Any ideas?|How do I solve this?]
Give me advice: {PROBLEM}. {LENGTH}
{HELLO} {PROBLEM}. What can I try first?
What would {PERSONA} say to someone who complains: "{^PROBLEM}"?
A friend says: "{^PROBLEM}." What advice would you give?
Create a daily schedule for {a JOB} who wants to {GOAL_OTHER}.
Make a training plan of {3-10} weeks for {SKILL}.
How should a beginner go about {SKILL}? {FORMAT}
I have {10-60/5} minutes a day for {SKILL}. Make a plan for one week.
I am {a JOB} and would like to become {a JOB}. How do I get there?
What questions should I ask myself before I {DECISION}?
Should I {DECISION}? Help me think it through.
Plan a {2-9}-day trip to {CITY} for [two people|a family with two children|a group of students|a retired couple]. The main interest is \
{HOBBY}.
What should I see in {CITY} if I have only {3-10} hours?
Write a packing list and a day plan for {2-5} days in {CITY} in {MONTH}.
I have {INGREDIENT}, {INGREDIENT} and {INGREDIENT} at home. What can I cook? {FORMAT}
Give me a recipe for {FOOD}[.| for {2-9} people.| without {INGREDIENT}.| that is ready in {20-60/10} minutes.| that {AUDIENCE} can follow.]
How do I adapt a recipe for {FOOD} if I have no {INGREDIENT}?
Make a menu for {3-7} days around {INGREDIENT} and {INGREDIENT}.
Design a {20-90/10}-minute lesson about {CONCEPT} for {AUDIENCE}.
Outline a workshop on {SKILL} with {2-6} parts.
I have to give a talk on {CONCEPT} in {2-10} days. How should I prepare?
What is the best way to tell {RELATION} that I want to {DECISION}?
Write a step-by-step guide to {SKILL}. {LENGTH}
Our team of {3-15} people has to finish [a report|a website|an exhibition|a move to a new office|a small game] in {2-10} weeks. Divide the \
work into phases.
Suggest a weekly budget for [a student|a young family|a retired couple|a trainee] with {200-900/50} dollars a week.
What risks should {a JOB} think of before starting a business?
How would you teach {SKILL} to {AUDIENCE}?
Give me a morning routine that helps to {GOAL_OTHER}.
Which habits would help me to {GOAL}? Name {3-6}.
Set {3-6} small goals on the way to this one: {GOAL}.
""")
PROBLEM_SAID = words(
    """{^PROBLEM}.; For {2-11} months now I have had this problem: {PROBLEM}.; It is always the same: {PROBLEM}.; I need some advice,
    because {PROBLEM}."""
)
GOAL_OTHER = words(
    """sleep better; eat more vegetables; read more; spend less money; exercise every day; learn a language; have less stress; finish a
    novel; spend more time with friends"""
)
DECISION = words(
    """quit my job; move to {CITY}; buy {THING}; get a dog; start a business in {COUNTRY}; study again; sell my car; lend money to
    {RELATION}; take up {HOBBY}; move in with {RELATION}; paint my kitchen black; work part-time; stop eating meat; adopt a cat"""
)
