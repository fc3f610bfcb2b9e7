"""A text with mistakes; {spoiled} is a passage with slips of the pen, {text} the same without."""

from domino_jax.train.tasks.grammar import lines

TEMPLATES = lines("""
Correct the spelling and grammar of this text:¶¶{spoiled}
Proofread the following {genre}[.| and list the changes you made.| and return only the corrected text.]¶¶{spoiled}
Fix the mistakes: {spoiled}
There are [some|a few|several] typos in this text. Find and correct them.¶¶{spoiled}
{ASK} check this before I send it?¶¶{spoiled}
{spoiled}¶¶Correct the text above. Keep the wording where it is right.
Which words are misspelled here?¶¶{spoiled}
List every error in the following text with its correction[.| in a table.]¶¶{spoiled}
I typed this on my phone. Please clean it up:¶¶{spoiled}
Edit this {genre} for clarity and correctness:¶¶{spoiled}
Please proofread. English is not my first language.¶¶{spoiled}
Correct the text, then explain the [two|three] most important corrections.¶¶{spoiled}
Copy-edit for a newspaper: {spoiled}
Bring this text into a form that I can hand to {a JOB}:¶¶{spoiled}
Act as {PERSONA} and correct my text:¶¶{spoiled}
Does this text have mistakes? If so, correct it.¶¶{sometimes}
Is the following {genre} free of errors? Answer yes or no first.¶¶{sometimes}
Improve the style of this text without changing the facts.¶¶{text}
Suggest {2-5} improvements for this {genre}.¶¶{text}
Cut all words that are not needed:¶¶{text}
Change the passive sentences into active ones where that is possible.¶¶{text}
Use British spelling in the following text:¶¶{text}
Add paragraph breaks and a title to this text.¶¶{text}
Give feedback on this {genre}: what works, what does not?¶¶{text}
Replace repeated words by synonyms where that reads better.¶¶{text}
My teacher gave me a C for this. How can I make it better?¶¶{spoiled}
[Punctuate and capitalize|Put capitals and full stops into] this text:¶¶{bare}
The following lost its punctuation. Restore it.¶¶{bare}
Transcript without punctuation:¶{bare}¶¶Clean version:
""")
