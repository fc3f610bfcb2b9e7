"""Questions on a passage: {question} and {other} are answered in it, {missing} perhaps not."""

from domino_jax.train.tasks.grammar import lines

TEMPLATES = lines("""
{text}¶¶{question}
{text}¶¶Question: {question}¶Answer:
Read the text and answer the question.¶¶Text: {text}¶¶Question: {question}
{question}¶¶{text}
Answer the question from the passage[.| in a full sentence.| in as few words as possible.| and quote the sentence that you \
used.]¶¶Passage: {text}¶¶Question: {question}
Based on the following {genre}, {ask_lower}¶¶{text}
Context:¶{text}¶¶Using only the context, answer: {question} If it is not there, say so.
Use the context to answer.¶¶Context: {text}¶¶{missing}¶¶If the context does not tell, answer "I don't know".
Documents:¶[1] {text}¶[2] {text_b}¶¶Question: {question}¶Answer with the number of the document that you used.
You are given two passages.¶¶Passage A: {text_b}¶¶Passage B: {text}¶¶{question} Which passage says so?
Here is [a search result|a page from our handbook|a clipping|a note from a colleague]:¶¶{text}¶¶{question} {LENGTH}
{text}¶¶1. {question}¶2. {other}
Answer both questions about the text.¶¶{text}¶¶a) {question}¶b) {other}
According to the text below, {ask_lower}¶¶{text}
I have a question about this {genre}: {question}¶¶{text}
"{text}"¶¶{question} And {other_lower}
From the {genre} below, find out the following. {question} {other}¶¶{text}
{text}¶¶{question} Explain how you know.
Knowledge base:¶- {text_b}¶- {text}¶¶User: {question}¶¶Write the reply of a helpful assistant, in {a TONE} tone.
Write {2-5} questions that can be answered with this text, and answer them.¶¶{text}
Is the answer to "{missing}" in this text? If so, what is it?¶¶{text}
True or false? Write {2-4} statements about the text and say which are true.¶¶{text}
The following {genre} was retrieved for a user.¶¶{text}¶¶The user asks: {question}¶Give a helpful and precise answer.
Please check the text and tell me: {question}¶¶---¶{text}¶---
{ASK} look this up in the text for me? {question}¶¶{text}
{text}¶¶Somebody has read this and asks: {question} What do you answer?
Make a multiple-choice question out of the text with {3-5} options, and mark the right one.¶¶{text}
What can be concluded from the text, and what can not?¶¶{text}
""")
