"""Letters, stories, poems, product texts and more."""

from domino_jax.train.tasks.grammar import lines, words

TEMPLATES = lines("""
Write an e-mail to {them=RELATION} to {WISH}.[ {LENGTH}|]
Write {a TONE} message to {them=RELATION} in which I {WISH}.
{ASK} draft an e-mail {MAIL}?
Write {a TONE} e-mail {MAIL}. {LENGTH}
Draft a letter {MAIL}. Tone: {TONE}.
Write {PIECE} about {PLOT}.[ {LENGTH}|]
Write {PIECE} about {PLOT}, with {TWIST}.
{^PIECE} about {MOOD}, please[.|, in {a TONE} voice.|, set in {PLACE}.]
Write {PIECE} set in {PLACE}. {TWIST_SENTENCE}
Write a poem about {MOOD} in {2-6} stanzas[.| that rhymes.| without rhyme.]
Tell me a story about {PLOT}. {LENGTH}
Begin a story with this sentence: "{FIRST}"
Continue this story: "{FIRST} {SECOND}"
Finish the story. It begins like this: {FIRST} {SECOND}
End a story with the words: "{FIRST}"
Write a product description for {THING} made by {COMPANY}. {LENGTH}
Write an advertisement for {THING} in {a TONE} tone.
Write {2-5} slogans for {COMPANY}, a company that sells {THING_MANY}.
Write a [five-star|three-star|one-star|mixed] review of {THING}.
Write a job advertisement for {a JOB} at {COMPANY} in {CITY}. {FORMAT}
Write a cover letter for {a JOB} who applies at {COMPANY}.
Write a CV summary of {2-4} sentences for {a JOB} with {2-25} years of experience.
Write a press release: {COMPANY} opens a branch in {CITY} in {MONTH}.
Write a blog post about {SKILL}. {LENGTH}
Write a blog post titled "What {HOBBY} taught me about {CONCEPT}".
Write an introduction of {60-150/10} words to an essay on {ISSUE}.
Write an essay [for|against|about] {ISSUE}. {LENGTH}
Write a speech of {2-5} minutes for {OCCASION}.
Write a toast for {RELATION} on [a 20th|a 30th|a 50th|a 60th|an 80th] birthday.
Write an invitation to {OCCASION}. Date: {DAY}, {MONTH} {2-28}.
Write a caption for a photo of {ANIMAL} in {PLACE}.
Write a dialogue between {PERSONA} and {PERSONA} about {ISSUE}.
Write a dialogue between {a JOB} and {a JOB} who meet in {PLACE}.
Write a conversation in a shop where somebody wants to buy {THING}.
Write a diary entry of {PERSON} on the day of a great success.
Write a letter from {PERSON} to a student of today.
Describe {PLACE} so that one can [smell|hear|see] it. {LENGTH}
Describe {CITY} in {MONTH} in {40-150/10} words.
Write a tongue twister about {ANIMAL}.
Write [a fable|a comic dialogue|a nursery rhyme] about {ANIMAL} and {MACHINE}.
Write a children's story in which {ANIMAL} learns about {CONCEPT}.
Write a quiz of {3-8} questions about {CONCEPT} with answers.
Write {3-6} multiple-choice questions about {EVENT} and mark the right answers.
Write a script for a {1-3}-minute video on {WHY}.
Write a social media post for {COMPANY} about {OCCASION}.
Write the rules of a house for {3-8} people who share a kitchen.
Write a thank-you card to {a JOB} who helped with {THING}.
Write an apology from {COMPANY} to its customers for a {2-9}-hour failure of its website.
Write a horoscope for somebody who loves {HOBBY}, in {a TONE} tone.
Write a eulogy for {THING} that served for {5-30} years.
Write the back cover of a novel about {PLOT}.
Write a weather report for {PLANET}.
Write a recipe for {MOOD} as if it were a dish.
""")
TWIST_SENTENCE = words("It should have {TWIST}.; Use {TWIST}.; {LENGTH}; The tone should be {TONE}.")
FIRST = words(
    """The train stopped in the middle of the bridge, and nobody knew why.; On the day {NAME} turned {18-80}, a parcel without a sender
    arrived.; There was only one rule in the house: never open the [blue|green|small|third] window.; {NAME} had not spoken for {3-30}
    days.; At {2-5} in the morning the church bell rang {5-20} times.; "You are late," said the cat.; It had been raining in {TOWN}
    since {MONTH}.; Nobody believed {NAME} until the lights went out.; The map had been wrong all along.; Every {DAY} an old woman sat
    on the same bench and fed no birds.; {NAME} counted the money again: {100-900/3} dollars too much.; When the snow melted, we found
    the piano.; The new neighbor had {7-30} suitcases and no furniture.; My grandfather left me three things: a key, {THING} and a
    warning.; The letter began with the words: do not read this.; Far out at sea a light went on and off in a strange rhythm.; The last
    customer of the day wanted to buy the shop.; All clocks in the town had stopped at the same minute."""
)
SECOND = words(
    """{NAME} was the only one who laughed.; Then somebody knocked.; That was {3-20} years ago.; It smelled of oranges and smoke.; We
    should have turned back there and then.; Only {NAME} seemed to know the reason.; A dog barked, and then it was quiet.; But first
    there was breakfast."""
)
THING_MANY = words(
    """bicycles; handmade soap; garden tools; maps and globes; children's shoes; fresh bread; solar lamps; used books; umbrellas; tea from
    {COUNTRY}; furniture made of old wood"""
)
