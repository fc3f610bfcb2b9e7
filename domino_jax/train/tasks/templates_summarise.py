"""A passage to be summarised."""

from domino_jax.train.tasks.grammar import lines, words

TEMPLATES = lines("""
Summari[z|s]e the following {genre}[.| in one sentence.| in two sentences.| in {15-50/5} words.]¶¶{text}
{text}¶¶Summari[z|s]e the text above[.| for {AUDIENCE}.| in {2-5} bullet points.| in a single sentence.]
What is the main point of this text?¶¶{text}
TL;DR:¶¶{text}
Give me the key facts of this {genre}[:| as a list:| in at most {20-50/5} words:]¶¶{text}
I have no time to read this. What does it say?¶¶{text}
Write a [headline|title|subject line] for this {genre}[.| and a summary of two sentences.]¶¶{text}
Condense this into [a tweet|a text message|one line for a calendar|a short note on a door]:¶¶{text}
Sum up the following passage in {a TONE} tone:¶¶{text}
Read the {genre} and say in [one sentence|two sentences|your own words] what it is about.¶¶{text}
{ASK} summarize this for {AUDIENCE}?¶¶{text}
Which {2-4} points of this text should one remember?¶¶{text}
Make an outline of the following {genre}.¶¶{text}
Text: {text}¶¶Summary:
Summary in [three|four|five] bullet points, each of at most {8-14} words:¶¶{text}
{RELATION_SENDS}¶¶"{text}"¶¶[What is this about?|Just give me the gist.|What do I have to know?|Summarize it for me.]
What happened, who was involved, and what comes next? Answer from this text:¶¶{text}
Summarize both texts and say what they have in common.¶¶Text 1: {text}¶¶Text 2: {text_b}
Here are two texts. Write one sentence about each.¶¶1. {text}¶¶2. {text_b}
Write an abstract of {25-60/5} words:¶¶{text}
First summarize the {genre}, then name one thing it leaves open.¶¶{text}
Pick the most important sentence of this text and explain your choice.¶¶{text}
Summarize the text [without numbers|without names|as a question and an answer|in the style of {STYLE}].¶¶{text}
Write a {15-40/5}-word teaser that makes people read on.¶¶{text}
In a nutshell, please:¶¶{text}
Suggest {3-6} keywords for this {genre} and a one-line description.¶¶{text}
""")
RELATION_SENDS = words(
    """I got this from {RELATION}:; {^RELATION} sent me the following:; This hangs in our hallway:; I found this in an old newspaper:; This
    was in my inbox today:; My class has to read this:; From a website:"""
)
