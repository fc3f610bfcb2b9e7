"""How an answer shall be: its length, form and tone."""

from domino_jax.train.tasks.grammar import words

LENGTH = words(
    """Keep it short.; Use no more than {30-300/10} words.; Answer in [one sentence|two sentences|three sentences|a paragraph].; Write
    about {50-400/25} words.; [Please be brief.|Be concise.|A short answer is enough.]; Limit yourself to {2-6} sentences.; [Take as
    much space as you need.|Go into detail.|I would like a thorough answer.]; One paragraph is enough.; Give me the long version.; Stay
    under {60-250/10} words.; Two or three sentences will do."""
)
FORMAT = words(
    """Use bullet points.; Answer as a numbered list.; Put it in a table.; Use headings for the main parts.; Start with a one-line
    summary.; Give an example for each point.; Write in plain paragraphs, without lists.; End with a one-sentence conclusion.; Format
    the answer in Markdown.; Begin with the most important point.; Use a question-and-answer format.; Write it as a dialogue between two
    people.; Give [a short|one] example.; Number the steps.; Finish with {2-4} questions I can use to test myself.; Define every
    technical term that you use."""
)
TONE = words(
    """friendly; formal; casual; professional; humorous; enthusiastic; calm; neutral; warm; confident; poetic; dry; encouraging; serious;
    playful; polite; direct; dramatic; persuasive; simple; respectful; optimistic; thoughtful; matter-of-fact; upbeat; old-fashioned"""
)
STYLE = words(
    """a newspaper article; a bedtime story; a legal notice; a text message; a sports commentary; a fairy tale; a business memo; a diary
    entry; a radio announcement; a scientific abstract; a tweet; a letter to a friend; a detective novel; a school essay; a travel blog;
    an advertisement; a set of instructions; a speech; a poem; a press release; a chat between two friends; a museum label; a film
    trailer"""
)
ASK = words("Can you; Could you; Would you; Could you please; Can you please; Would you please; Will you")
HELLO = words("Hi!; Hello,; Hey,; Good morning.; Quick question:; Hi there,; Sorry if this is a silly question, but; Help me out here:")
WHYASK = words(
    """I have a test tomorrow.; I am writing a school report.; My daughter asked me this at breakfast.; I am preparing a short talk.; It
    came up at work today.; I read about it and did not get it.; We argued about this last night.; I am just curious.; It is for a quiz
    night.; I need it for a newsletter.; I have forgotten what I learned at school.; I am new to this."""
)
ADJECTIVE = words("new; small; used; blue; cheap; compact; simple; black; second-hand; red; large; light; sturdy; grey; well-known; tiny")
