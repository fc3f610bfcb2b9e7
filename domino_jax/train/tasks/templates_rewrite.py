"""A text to be written anew; {text} is a passage, {genre} says of what sort."""

from domino_jax.train.tasks.grammar import lines

TEMPLATES = lines("""
Rewrite the following {genre} in {a TONE} tone.¶¶{text}
Rewrite this as {STYLE}:¶¶{text}
Make this text sound more {TONE}[:| and a little shorter:]¶¶{text}
{text}¶¶Rewrite the text above so that {AUDIENCE} can understand it.
Paraphrase the following passage[.| without changing its meaning.| in your own words.]¶¶"{text}"
Simplify this {genre} for {AUDIENCE}:¶¶{text}
Turn this {genre} into {2-6} bullet points.¶¶{text}
Shorten this {genre} to {20-60/5} words.¶¶{text}
Shorten the text by about half, and keep [all numbers|all names|the order of events|the tone].¶¶{text}
Expand this into a longer text of about {150-300/25} words:¶¶{text}
Rewrite the text from the point of view of [{a JOB}|a child|a passer-by|somebody who disagrees|{PERSONA}].¶¶Text: {text}
{ASK} put the following into the [future|present|past] tense?¶¶{text}
Rewrite this {genre} in the first person.¶¶{text}
Rewrite the passage in short sentences of at most {8-14} words.¶¶{text}
Combine the sentences of this text into [two|three] longer ones.¶¶{text}
Change the following text into {STYLE}. Keep the facts.¶¶{text}
Write the text again, but as a list of questions and answers.¶¶{text}
Rewrite this without using the letter [b|f|g|k|p]:¶¶{text}
Make this {genre} [more vivid|less wordy|easier to read aloud|suitable for a website|fit for a school book]:¶¶{text}
Please rephrase this so that it does not sound copied:¶¶{text}
Give this {genre} a new ending.¶¶{text}
I wrote this, and {RELATION} says it is boring. Can you make it more interesting?¶¶{text}
The text below is too [formal|dry|long|vague|complicated]. Fix that.¶¶{text}
Replace all numbers in the text by words[.| and leave everything else as it is.]¶¶{text}
Write {2-4} different versions of the first sentence of this text:¶¶{text}
Rewrite the following as {a TONE} message to {RELATION}.¶¶{text}
Reorder the sentences so that the most important thing comes first.¶¶{text}
Retell this in {3-6} sentences: {text}
Adapt this {genre} for [a radio program|a poster|a children's magazine|a company intranet|a phone call].¶¶{text}
Write a headline and a subheading for this text, then rewrite its first two sentences.¶¶{text}
Turn the following notes into a [polite e-mail|clean paragraph|short article].¶¶{notes}
Write these notes out in full sentences, in {a TONE} tone:¶¶{notes}
Original:¶{text}¶¶Rewritten for {AUDIENCE}:
Say the same in plain English: "{text}"
""")
