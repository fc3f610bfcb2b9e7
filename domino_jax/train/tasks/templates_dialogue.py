"""Conversations with earlier turns, and role play. Turns are separated by lines; `>` is the user, `<` the assistant, `!` the system."""

from domino_jax.train.tasks.grammar import words

DIALOGUES = """
> What is {c=CONCEPT}?
< That is a good question. Shall I give you the short version or the long one?
> [The short one, please.|The long one, with an example.|Short, please, and for {AUDIENCE}.]

> Explain {WHY} to me.
< Gladly. How much do you know about it already?
> [Nothing at all.|Only what I remember from school.|Quite a lot, so you can go into detail.] {LENGTH}

> I want to {GOAL}.
< Great! What has kept you from it so far?
> [Mostly a lack of time.|I start well and stop after a week.|I do not know where to begin.|To be honest, I am lazy.] What do you suggest?

> {^PROBLEM}.
< I am sorry to hear that. What have you tried so far?
> [Nothing yet.|I talked to {RELATION}, but it did not help.|I looked it up, and every page said something else.] [What should I do \
first?|Any idea?|Please give me a plan.]

> I am planning {OCCASION}.
< That sounds nice! What is your budget, and how much time do you have?
> About {50-2000/50} dollars, and {2-9} [days|weeks]. {LENGTH}

> Can you recommend a recipe with {a=INGREDIENT}?
< How about {FOOD}? It takes about {20-90/5} minutes.
> [I do not like that. Something else, please.|Good idea! What do I need?|Is there a version without {INGREDIENT}?|How many people does \
that serve?]

> I have {INGREDIENT}, {INGREDIENT} and {INGREDIENT}. What can I cook?
< You could make {FOOD} or {FOOD}.
> [The first one, please. How do I do that?|Which of the two is quicker?|Tell me how to make the second one.]

> Tell me a story about {p=PLOT}.
< With pleasure: a story about {p}. It begins on an evening when something strange happened.
> [Go on.|What happened?|Make it funnier, please.|And then? End it in {3-8} sentences.|Please start again, and set it in {PLACE}.]

> Write {PIECE} about {MOOD}.
< I would love to. Should it be {TONE} or rather {TONE}?
> [The first.|The second, please.|Neither: make it {TONE}.] {TWIST_END}

> How do I say "{PHRASE}" in {LANGUAGE}?
< Would you like the formal or the casual way?
> [Both, please.|Formal.|The casual one. And how do I answer when somebody says it to me?]

> What is the capital of {x=COUNTRY}?
< I can tell you that, and more about {x} if you like.
> [Just the capital.|Yes, tell me what to see there.|And which languages are spoken there?|What is the food like?]

> I would like to travel to {x=CITY} in {MONTH}.
< A good choice! Are you more interested in museums, food or nature?
> [Food, above all.|Museums.|A bit of everything, for {2-6} days.|I travel with {RELATION}, who loves {HOBBY}.]

> Write a Python function that {returns}.
< Should it check its input, or may I assume that it is right?
> [Assume that it is right.|It should raise an error for bad input.|Check it, and add {2-5} tests.]

> Write a Python function that {returns}.
< Here is the beginning:¶¶```python¶def {signature}:¶    ...¶```
> [Please write the body.|Now fill it in and explain it.|Why does it need these arguments? Write the rest, too.|Write it in \
{CODING_LANGUAGE} instead.]

> My Python program does not do what it should.
< Can you show me the part that you suspect?
> ```python¶{BUG}¶```

> Can you look at my code?¶¶```python¶{BUG}¶```
< Of course. What should it do, and what does it do?
> [It gives the wrong result.|I do not know, it is from a friend.|It should work, but it crashes.|Just tell me everything that you would \
change.]

> {problem}
< Let us think about what we know first. Which numbers are given?
> [I see them, but I do not know what to do with them.|Just solve it, please.|Show me the first step only.|Please solve it step by step.]

> What is {a=12-99} times {b=12-99}?
< Would you like to see how it is done?
> [Yes, step by step.|No, only the result.|Yes. Is there a trick to do it in the head?]

> Compare {p=CHOICE}.
< Which aspect matters most to you?
> {^ASPECT}. {LENGTH}

> What is the difference between {p=PAIR}?
< There is more than one. What do you need it for?
> [I only want to understand it.|I have to explain it to {AUDIENCE}.|For a test on {DAY}.]

> I need to write an e-mail {MAIL}.
< I can draft that. Should it sound {TONE} or {TONE}?
> [The former.|The latter, please.] {LENGTH}

> Help me to write to {them=RELATION}. I want to {WISH}.
< Sure. How do you usually write to each other?
> [Very casually.|Rather formally.|We have not spoken for {2-9} months.]

> Give me ideas for {IDEA}.
< Here is one: keep it small and start this week. Would you like more?
> [Yes, {3-9} more.|That is boring. Surprise me.|How would I start with that one?]

> Name some {l=LISTED}.
< How many would you like?
> {^COUNT}[.|, with one sentence each.|, please. No explanations.]

> Should I {DECISION}?
< That depends. What speaks for it, and what against it?
> [I would be happier, I think, but I am afraid.|{^RELATION} says yes, my head says no.|It costs {200-5000/100} dollars, that is the \
problem.|I have wanted it for {2-9} years.]

> Let us play a game of riddles.
< With pleasure! Do you want to guess or to ask?
> [I want to guess. Give me one about {ANIMAL}.|I ask: what has hands but cannot clap?|You ask. Make it easy for {AUDIENCE}.|Guess this: \
the more you take, the more you leave behind.]

> Let us play [twenty questions|a quiz about {COUNTRY}|word association|true or false].
< Fun! You begin.
> [Ask me the first question.|You first.|What are the rules again?|I am ready. Make it hard.]

> Pretend to be {p=PERSONA}.
< All right, from now on I speak as {p}. What brings you here?
> [I need advice: {PROBLEM}.|Tell me about your day.|What do you think about {ISSUE}?|Explain {CONCEPT} to me.|I am looking for {THING}.]

> You are {PERSONA}, and I am {a JOB}. We meet in {PLACE}. You begin.
< Ah, there you are! I did not expect anyone at this hour.
> [I have lost my way. Can you help me?|Who are you?|I was told that you have {THING} for me.|Is it always so quiet here?|*looks around* \
What happened here?]

> I will play {a JOB}, you are a customer. Ready?
< Ready. Good morning! I have a question about {THING}.
> [Good morning. How can I help?|I am sorry, we are closed.|That one is broken. May I show you another?|Of course! What would you like to \
know?]

> Interview me for a job as {a JOB}.
< Welcome! Tell me a little about yourself.
> [I have worked as {a JOB} for {2-20} years and want a change.|I have just finished school and learn quickly.|What would you like to \
know?] [Please ask the next question.|And then give me feedback on my answer.|Go on.]

! You are {PERSONA}.
> [What is {CONCEPT}?|Tell me {WHY}.|What do you think of {ISSUE}?|Good morning! How are you?|I need advice: {PROBLEM}.]

! You are a helpful assistant of {COMPANY}, which sells {THING_MANY}. [Be brief.|Be {TONE}.|Never promise a date.|Ask for the order number \
first.]
> {MESSAGE}

! Answer in {TONE} sentences[.|, at most {2-5} of them.|. Always end with a question.]
> [How does {MACHINE} work?|Who was {PERSON}?|How can I {GOAL}?|Recommend something for {OCCASION}.]

! You teach {LANGUAGE}. Answer in English and give the {LANGUAGE} words, too.
> [How do I order {FOOD} in a restaurant?|I want to introduce myself as {a JOB}.|Teach me {4-10} words about {HOBBY}.|How do I say \
"{PHRASE}"?]

! You only answer questions about {h=HOBBY}. Politely refuse everything else.
> [How do I start with {h}?|What is the capital of {COUNTRY}?|Which equipment for {h} do I need first?|Can you write an e-mail for me?]

> Summarize this: {text}
< It is about {genre}, told in a few sentences. Would you like it shorter or longer?
> [Shorter.|Longer, please, with all numbers.|As {STYLE}.|For {AUDIENCE}, please.]

> {text}¶¶{question}
< The text says so in one of its sentences.
> [Which one?|Please answer in full, then.|And another question: {other}]

> Correct this: {spoiled}
< Should I keep your style or polish it as well?
> [Keep it.|Polish it, please.|Only correct what is wrong, and list the changes.]

> Who was {x=PERSON}?
< A person whose work is still discussed today. What would you like to know?
> [Everything important in {3-8} sentences.|Where {x} lived, and when.|Why people still talk about it.|An anecdote, if there is one.]

> When was {e=EVENT}?
< Do you need the exact years or only the century?
> [The exact years.|The century will do. But why did it happen?|Both. And who was involved?]

> I cannot sleep.
< That is unpleasant. Would you like to talk, or shall I tell you something calm?
> [Something calm, about {ANIMAL}.|Let us talk. {^PROBLEM}.|Tell me about {PLACE}.|Explain {CONCEPT}, that should do.]

> Hi!
< Hello! What can I do for you today?
> [How does {MACHINE} work?|I want to {GOAL}. Where do I begin?|Tell me a joke about {a JOB}.|Do you know {WHY}?|What is {CONCEPT}?]

> My name is {who=NAME}. I am {a JOB}.
< Nice to meet you, {who}! What would you like to talk about?
> [About {CONCEPT}.|Guess what I like about my job.|Suggest a hobby for me.|What was my name again? And what do I do?|Write a short poem \
about me.]

> I am learning about {c=CONCEPT}.
< Good! Shall I explain it, or ask you questions?
> [Ask me {2-6} questions.|Explain it first.|Give me a task and correct my answer.|Tell me what most people get wrong.]

> Thanks for the explanation of {c=CONCEPT}.
< You are welcome. Is anything still unclear?
> [Yes: what is it good for?|No. But how is it connected with {CONCEPT}?|Could you give one more example?|Summarize it in one sentence, so \
that I remember it.]

> Rewrite this for {AUDIENCE}: {sentence}
< How about: "{sentence}" Only with simpler words, of course. Shall I go on?
> [Yes, please.|Make it {TONE}.|Do it in {2-4} different ways.]

> Plan {OCCASION} for me.
< Here is a first idea: start early, keep the middle free, end with something to eat.
> [Too vague. Give me times.|What could go wrong?|What does it cost?|Write it as a checklist.|Make it work on a rainy {DAY}.]
"""
TEMPLATES = tuple(DIALOGUES.strip().split("\n\n"))
TWIST_END = words("It should have {TWIST}.; {LENGTH}; Thank you!; Set it in {PLACE}.")
COUNT = words("three; four; five; six; seven; ten")
