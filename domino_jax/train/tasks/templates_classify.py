"""Short messages and passages to be sorted, rated, or searched for facts."""

from domino_jax.train.tasks.grammar import lines, words

TEMPLATES = lines("""
Is the sentiment of this message positive, negative or neutral?¶¶"{MESSAGE}"
Classify the sentiment: "{MESSAGE}"[| Explain in one sentence.]
Message: {MESSAGE}¶Sentiment (positive / negative / mixed):
Which department should handle this: billing, technical support, sales or returns?¶¶{MESSAGE}
Assign one label of {LABELS} to the message.¶¶{MESSAGE}
Label each of these messages with one of {LABELS}.¶¶1. {MESSAGE}¶2. {MESSAGE}¶3. {MESSAGE}
Rate how urgent each message is from 1 to 5[.| and give a reason.]¶¶- {MESSAGE}¶- {MESSAGE}¶- {MESSAGE}¶- {MESSAGE}
Sort these messages from the happiest to the angriest:¶a) {MESSAGE}¶b) {MESSAGE}¶c) {MESSAGE}
What does the writer of this message want? Answer in at most {8-20} words.¶¶{MESSAGE}
Is this a question, a complaint, a request or praise? "{MESSAGE}"
Detect the emotion in the following sentence and say which words show it: {MESSAGE}
Would you forward this to a human? Answer yes or no, with a reason.¶¶{MESSAGE}
Extract [product, problem and wish|who, what and when|all numbers and what they mean] from this message[ as JSON|]:¶¶{MESSAGE} {MESSAGE}
Group the following words into [two|three] groups and name each group: {ANIMAL}, {FOOD}, {MACHINE}, {ANIMAL}, {FOOD}, {THING}
Which word does not belong, and why? {WORDS_ODD}
Sort these into categories: {INGREDIENT}, {CITY}, {SUBSTANCE}, {JOB}, {COUNTRY}, {INGREDIENT}, {JOB}, {CITY}
Put these items in alphabetical order: {THING}; {THING}; {THING}; {THING}
Which of these are living things? {ANIMAL}, {MACHINE}, {SUBSTANCE}, {ANIMAL}, {CONCEPT}
Extract all names of people and places from this {genre}.¶¶{text}
Find all numbers in the text and say what each stands for.¶¶{text}
List [every date, day and time|every amount of money|every person|every place] in the text below[.| as JSON.| as a comma-separated \
list.]¶¶{text}
Turn the information in this {genre} into [a table|JSON|YAML|a CSV line with a header|a list of key: value pairs].¶¶{text}
What kind of text is this: news, story, advertisement, letter or instructions? Justify your answer.¶¶{text}
For which readers was this written?¶¶{text}
Is the tone of this {genre} {TONE}, {TONE} or {TONE}?¶¶{text}
Separate facts from opinions in this text.¶¶{text}
Name the topic of each sentence in one or two words.¶¶{text}
Extract the verbs of the first two sentences: {text}
Pull out every action that somebody still has to do.¶¶{text}
Fill in this form from the text. Who: / What: / Where: / When: / Why:¶¶{text}
Tag the text with up to {3-6} topics.¶¶{text}
Does the text answer the question "{missing}" or not? Answer yes or no.¶¶{text}
Suggest three titles for this text and choose the best.¶¶{text}
Is this spam? Answer yes or no and say why.¶¶{MESSAGE}
""")
LABELS = words(
    """praise, complaint, question; urgent, normal, can wait; billing, delivery, product, account; food, travel, technology, health; happy,
    sad, angry, surprised; private, business; bug report, feature request, praise"""
)
WORDS_ODD = words(
    """{INGREDIENT}, {INGREDIENT}, {SUBSTANCE}, {INGREDIENT}; {CITY}, {COUNTRY}, {CITY}, {CITY}; {JOB}, {JOB}, {HOBBY}, {JOB}; {ANIMAL},
    {ANIMAL}, {MACHINE}, {ANIMAL}; {MONTH}, {DAY}, {DAY}, {DAY}; {PLANET}, {CITY}, {PLANET}, {PLANET}; {HOBBY}, {HOBBY}, {FOOD}, {HOBBY}"""
)
MESSAGE = words(
    """I have waited {2-9} weeks for {THING}, and nobody answers my e-mails.; The {FOOD} was the best I have had since my trip to {CITY}!;
    Please change my address to {2-190} Garden Road, {TOWN}.; The app crashes every time I open the [settings|camera|calendar|search],
    since the update on {DAY}.; Thank you, {NAME}, for staying on the phone for {20-70/5} minutes until it worked.; It is okay, I guess.
    It does what it says.; How do I cancel my order from last {DAY}?; I was charged twice in {MONTH}, {20-180/5} dollars each time.; My
    [children|parents|students] love {a ADJECTIVE} one as much as the one we had before.; Would it be possible to pay in {2-6} parts?;
    The hotel in {CITY} was clean, but the street was so loud that we slept {3-5} hours.; Do you ship to {COUNTRY}?; Never again. The
    box was open and half of the parts were missing.; I cannot log in, although I have changed my password {2-5} times.; Could you add a
    dark mode? My eyes hurt in the evening.; The lesson about {CONCEPT} was far too fast for me.; What a lovely surprise to find a
    handwritten card in the parcel!; Your driver left the parcel in the rain, and {THING} is ruined.; We would like to order {20-300/10}
    of them for our office in {CITY}. Is there a discount?; I liked the first half of the film, and slept through the second.; The train
    to {CITY} is {15-90/5} minutes late again, of course.; My grandmother would be proud of your {FOOD}.; Where can I find the invoice
    for {MONTH}?; The course on {SKILL} changed how I spend my evenings.; It stopped working after {2-11} days. I want my money back.;
    Is the museum open on {DAY}s in {MONTH}?; Since {MONTH} I have had a rash on my left hand, and it does not go away.; I have nothing
    to complain about, except the price.; You have won {100-900/50} dollars! Click here to claim your prize now.; The new manual is
    clear, short and even funny.; There is water under the dishwasher in apartment {2-60}, and it is getting more.; Our guide {NAME}
    knew everything about {EVENT} and made the children laugh.; I am disappointed: {THING} looks nothing like the picture.; Can somebody
    tell me which size I need? I am {150-199} centimeters tall.; The concert was sold out, so we danced on the street. Perfect evening!;
    Two of the {6-12} glasses were broken, the others are beautiful."""
)
