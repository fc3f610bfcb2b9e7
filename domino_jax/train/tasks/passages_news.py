"""Short texts about invented events: news, notices, letters, minutes, reviews, stories. See `passages` for the notation."""

PASSAGES = """
news article
The {place=library|swimming pool|sports hall|theater|museum} of {t=TOWN} reopens on {d=DAY} after {n=3-14} months of repairs. ?? How long \
was the {place} closed?
The work cost {c=2-9} million dollars, {m=10-60/5} percent more than planned. ?? By how much did the cost exceed the plan?
Most of the extra money went into a new roof, because the old one leaked. ?? Where did most of the extra money go?
The building now has an elevator and wider doors, so that visitors in wheelchairs can reach every floor. ?? What has been done for \
visitors in wheelchairs?
Director {who=NAME} {SURNAME} expects about {200-900/50} visitors a day. ?? How many visitors does the director expect?
Tickets stay at the old price until the end of {MONTH}. ?? Until when do tickets stay at the old price?
Neighbors had complained about the noise of the building site all through the winter. ?? What had neighbors complained about?
On the first evening a local band will play in the entrance hall. ?? What happens on the first evening?

news article
A {storm=thunderstorm|snowstorm|hailstorm|windstorm} cut the power in {t=TOWN} for {h=3-19} hours on {d=DAY}. ?? How long was {t} without \
power?
About {2000-19000/500} homes were dark, and two schools sent their pupils home. ?? What did the schools do?
Firefighters were called out {20-90} times, mostly to remove fallen trees. ?? Why were most calls made to the firefighters?
Nobody was seriously hurt, but {a JOB} was treated for a broken arm. ?? Was anyone hurt?
Trains to {CITY} ran again only the next morning. ?? When did the trains run again?
Mayor {NAME} {SURNAME} thanked the volunteers who handed out soup and blankets. ?? Whom did the mayor thank?
The power company says that an old transformer had failed, and promises to replace {3-9} others before winter. ?? What does the power \
company promise?
Shops reported that they had to throw away frozen food worth thousands of dollars. ?? What did shops have to throw away?

news article
Researchers in {t=CITY} have found that {subject=older people|students|night-shift workers|office workers|children} who {habit=walk for \
half an hour a day|sleep before midnight|learn a new song every week|eat breakfast together|read for fun|spend time in a garden} remember \
more. ?? What did the researchers find?
They followed {n=120-900/20} volunteers for {y=2-9} years. ?? How many volunteers took part, and for how long?
At the start and at the end everybody took the same memory test with {20-60/5} words. ?? How was memory tested?
The group with the habit forgot a third fewer words than the others. ?? How big was the effect?
The effect was the same for men and women. ?? Did it matter whether people were men or women?
{NAME} {SURNAME}, who led the study, warns that it does not prove a cause. ?? What does the leader of the study warn about?
People with the habit may simply have been healthier to begin with. ?? What other explanation is given?
A larger study in {COUNTRY} begins next {MONTH}. ?? What is planned next?

news article
{co=COMPANY}, a company from {t=CITY}, will close its factory in {TOWN} and build a new one {20-90/5} kilometers away. ?? What is {co} \
going to do?
The {n=120-900/10} workers were told on {DAY}. ?? When were the workers told?
All of them can keep their jobs, the company says, and a bus will bring them to the new place. ?? How will workers get to the new factory?
The union doubts that and has asked for a written promise. ?? What has the union asked for?
The new factory will use {20-60/5} percent less energy and no natural gas at all. ?? How will the new factory differ in its use of energy?
Sales of the company's best-known product, {THING}, have doubled in {3-7} years. ?? How have sales developed?
What will become of the old brick halls is open; an artist has proposed studios and a cafe. ?? What has an artist proposed?
The move is to be finished in {MONTH} next year. ?? When is the move to be finished?

news article
{who=NAME} {last=SURNAME}, {age=61-84} years old, has swum across the lake of {t=TOWN} for the {4-19}th time. ?? What has {who} {last} done?
The retired {JOB} needed {2-4} hours and {10-50/5} minutes for the {4-9} kilometers. ?? How long did the swim take?
A small boat with a doctor and a thermos of tea stayed close by. ?? What was in the boat?
The water was only {12-19} degrees warm, colder than last year. ?? How warm was the water?
{who} began to swim after an operation on the knee, on the advice of {a JOB}. ?? Why did {who} begin to swim?
Two grandchildren swam the last hundred meters along. ?? Who joined at the end?
The town gave a medal and a lifetime ticket for the public bath. ?? What did the town give?
Next summer {who} wants to try it at night. ?? What is planned for next summer?

notice
Dear residents of {12-98} {street=Maple|Station|Garden|Mill|Church|River} Street, the water will be turned off on {d=DAY} from {8-10} to \
{12-15} o'clock. ?? When will the water be turned off?
A pipe in the cellar has to be replaced. ?? Why is the water turned off?
Please fill a bucket or two beforehand, and do not use the washing machine during that time. ?? What should residents do beforehand?
The heating is not affected. ?? Is the heating affected?
After the work the water may look brown for a few minutes; let it run until it is clear. ?? What should you do if the water looks brown?
If nobody is at home, please leave a key with {who=NAME} {SURNAME} on the ground floor. ?? Who can take a key?
Bicycles must be removed from the cellar by the evening before. ?? What must be removed from the cellar, and by when?
Questions are answered by the property manager at extension {200-990/10}. ?? Whom can residents call?

notice
The {club=chess|rowing|drama|photography|hiking|gardening} club of {t=TOWN} is looking for new members. ?? What is the {club} club looking \
for?
We meet every {DAY} at {5-8} in the evening, in the room above the bakery. ?? Where does the club meet?
The first {2-4} evenings are free, and after that the fee is {3-15} dollars a month. ?? What does membership cost?
You need no experience; we lend you what you need for the first weeks. ?? Do you need experience?
Children from the age of {8-12} are welcome if an adult comes along. ?? From which age are children welcome?
In {MONTH} we travel to {CITY} together, and the club pays half of the tickets. ?? Who pays for the trip?
Write to {NAME}, our secretary, or simply come by. ?? How can you join?
Last year we won a small prize for our open day. ?? What did the club win?

e-mail
Hi {who=NAME}, the meeting with {co=COMPANY} has been moved from {DAY} to {d=DAY}, {9-11} o'clock. ?? When is the meeting now?
The room is still the same, number {100-390/10} on the [second|third|fourth] floor. ?? Where does the meeting take place?
Please bring the printed contract, because they want to sign it right there. ?? What should {who} bring, and why?
{NAME} from accounting cannot come but has sent the figures for {MONTH}. ?? Who cannot come?
They are worried about the delivery date, so we should have a clear answer. ?? What are they worried about?
My proposal is to offer {5-20/5} percent off if we are more than {2-4} weeks late. ?? What is the proposal if the delivery is late?
Lunch is ordered for {6-14} people; two of them are vegetarians. ?? For how many people is lunch ordered?
Call me if anything is unclear, I am on the train until {12-16} o'clock. ?? Until when is the writer on the train?

e-mail
Dear Ms. {last=SURNAME}, thank you for your order of {n=2-12} boxes of {what=candles|tea|paint|seeds|soap|coffee} from our shop in {CITY}. \
?? What did Ms. {last} order?
Unfortunately one of the boxes was damaged when it left our store. ?? What went wrong?
We have sent the others today, and the missing one will follow within {3-9} working days. ?? When will the missing box arrive?
You do not need to do anything, and there is no extra charge for shipping. ?? Is there an extra charge?
As an apology we have added a voucher for {5-25/5} dollars to your account. ?? What does the customer get as an apology?
The voucher can be used until the end of {MONTH}. ?? Until when is the voucher valid?
If you would rather cancel that box, answer this message before {DAY}. ?? How can the box be cancelled?
Your customer number is {1000-9800/17}; please have it ready if you call us. ?? What is the customer number?

minutes of a meeting
{n=5-12} members of the school board met on {d=DAY} in room {10-60}; {who=NAME} {SURNAME} led the meeting. ?? Who led the meeting?
The canteen will offer a vegetarian dish every day from {MONTH} on. ?? What changes in the canteen?
The price of a meal goes up by {20-80/5} cents. ?? By how much does a meal become more expensive?
{NAME} reported that {3-9} computers in the lab are too old for the new software. ?? What is the problem in the lab?
Two offers for new ones will be compared by {NAME} until the next meeting. ?? Who will compare the offers?
The trip to {CITY} was cancelled because too few families had signed up. ?? Why was the trip cancelled?
A vote on longer breaks ended {4-6} to {1-3} in favor. ?? How did the vote on longer breaks end?
The next meeting is on the first {DAY} of the coming month. ?? When is the next meeting?

review
I bought {a ADJECTIVE} {thing=coffee machine|backpack|desk lamp|tent|vacuum cleaner|keyboard|rice cooker} from {co=COMPANY} {2-11} weeks \
ago for {40-190/10} dollars. ?? What did the writer buy, and for how much?
It arrived a day early and was packed without any plastic. ?? How was it packed?
The manual is [a bad joke|short and clear|only a link to a video|the best I have ever read]. ?? What does the writer think of the manual?
After {3-9} days one of the buttons got stuck, but a drop of oil helped. ?? What happened to a button?
I use it every morning, and my [children|neighbors|colleagues|guests] have noticed it too. ?? How often is it used?
It is heavier than I expected. ?? What was not as expected?
The support answered my question within {2-20} hours. ?? How fast was the support?
All in all I [would buy it again|would not buy it again|am still not sure about it|have already ordered a second one]. ?? What is the \
final verdict?

review
We ate at the {name=Golden Spoon|Blue Door|Old Mill|Lemon Tree|Two Brothers|Harbor Light} in {t=CITY} last {d=DAY}, {n=3-7} of us. ?? \
Where and when did they eat?
The table was ready, although we were {10-40/5} minutes late. ?? Were they punctual?
The {FOOD} was [cold in the middle|the best in years|a little too salty|worth the journey alone]. ?? How was the food?
Our waiter knew every wine on the list and made the children laugh. ?? What is said about the waiter?
The music was so loud that we had to shout. ?? What was the problem with the music?
We paid {20-60/2} dollars each, drinks included. ?? What did each person pay?
The terrace looks onto the river, and in the evening there are candles on the tables. ?? What can be seen from the terrace?
Book early, since there are only {8-20} tables. ?? Why should one book early?

story
When {who=NAME} opened the {shop=bakery|bookshop|repair shop|flower shop|pharmacy} in {t=TOWN} that morning, a [blue|green|yellow|striped] \
envelope lay on the floor. ?? What did {who} find on the floor?
It held a key and a note with the words: you will know when. ?? What was in the envelope?
{who} tried the key in every door of the house, and none of them opened. ?? What did {who} try first?
At noon {a JOB} came in, looked at the key for a long time, and left without a word. ?? Who came in at noon?
That night it rained so hard that the wall of the yard fell down. ?? What happened to the wall?
Behind it stood a small iron box that nobody had seen for {30-90/5} years. ?? What stood behind the wall?
Inside was a photograph of a young woman who looked exactly like {who}. ?? What was in the box?
The next day {who} put the photograph in the window and waited. ?? What did {who} do with the photograph?

story
{who=NAME} had been {job=a bus driver|a teacher|a postman|a piano tuner|a night guard} in {t=CITY} for {n=12-38} years, and had never once \
been late. ?? How long had {who} been {job}?
On the last day before retirement the alarm clock stayed silent. ?? What happened on the last day?
{who} ran down the stairs with one brown shoe and one black one. ?? What was wrong with the shoes?
The street was full of snow, in the middle of {MONTH}. ?? What was in the street?
A dog with a red collar followed for {3-9} blocks and then sat down in front of a door. ?? What did the dog do?
Behind the door {20-60/5} people were standing in the dark with lamps and paper hats. ?? Who stood behind the door?
They had set the clock back, and it was only {5-6} in the morning. ?? Why had the alarm clock stayed silent?
{who} laughed so hard that the dog began to bark. ?? Why did the dog bark?

report
In {m=MONTH} the {dept=support|sales|delivery|marketing} team of {co=COMPANY} handled {n=900-4800/20} requests, {4-19} percent more than \
in the month before. ?? How many requests were handled?
The average answer took {2-9} hours, and one in {8-20} customers had to ask twice. ?? How long did the average answer take?
Most questions were about invoices and lost passwords. ?? What were most questions about?
Two new colleagues, {NAME} and {NAME}, finished their training. ?? Who finished training?
A failure of the phone system on the {4-19}th lasted {30-90/5} minutes. ?? What failed, and for how long?
Customers rated the service {3-4}.{1-9} out of 5. ?? What rating did customers give?
For the next quarter the team wants to publish answers to the {20-50/5} most common questions. ?? What is planned for the next quarter?
The costs stayed {2-9} percent below the budget. ?? How did the costs compare with the budget?

diary entry
{d=DAY}, {t=CITY}. We arrived after {n=9-27} hours on the [train|bus|ship], tired and happy. ?? How long did the journey take?
The room has a balcony just wide enough for one chair. ?? What is said about the balcony?
{who=NAME} got lost on the way to the market and came back with {3-9} kilos of oranges. ?? What did {who} bring back?
At dinner we sat next to {a JOB} from {COUNTRY}, who sang for us. ?? Who sat next to them at dinner?
My shoes are still wet from the [fountain|rain|harbor]. ?? Why are the shoes wet?
Tomorrow we want to climb the tower, {200-590/10} steps without an elevator. ?? What is the plan for tomorrow?
I have spent {30-120/5} dollars already and bought nothing useful. ?? How much money has been spent?
From the window I hear a piano, always the same eight bars. ?? What can be heard from the window?

instructions
To plant {plant=tulips|tomatoes|lavender|strawberries|garlic|roses}, choose a place with at least {n=5-8} hours of sun. ?? How much sun do \
{plant} need?
Loosen the soil to a depth of {20-40/5} centimeters and take out stones and roots. ?? How deep should the soil be loosened?
Mix in a bucket of compost for each square meter. ?? How much compost is needed?
Leave {15-60/5} centimeters between the plants so that air can move. ?? Why is space left between the plants?
Water them in the morning, not at noon, and keep the leaves dry. ?? When should they be watered?
Cover the ground with straw when it gets hot. ?? What should be done when it gets hot?
Snails come at night; a board laid on the ground will collect them. ?? How can snails be collected?
After {6-14} weeks you will see the first results. ?? When can results be seen?

product description
The {name=Breeze|Atlas|Pico|Nomad|Ember|Willow} {n=2-9} from {co=COMPANY} is {a thing=folding bicycle|camping lamp|travel mug|desk \
fan|weather station|rain jacket|speaker} for people who [travel light|work outdoors|live in small rooms|hate cables]. ?? Who is the \
product made for?
It weighs {200-950/50} grams less than the model before it. ?? How does its weight compare with the earlier model?
The case is made of recycled [aluminium|plastic|wood fiber] and comes in {3-7} colors. ?? What is the case made of?
One charge lasts {12-90/2} hours. ?? How long does one charge last?
It survives a fall from {2-4} meters and half an hour in the rain. ?? What can it survive?
All parts can be replaced with a single screwdriver, which is included. ?? What tool is included?
The warranty is {2-7} years. ?? How long is the warranty?
Until the end of {MONTH} it costs {49-199/10} dollars instead of {219-399/20}. ?? What does it cost now?

speech
Dear [friends|colleagues|graduates|neighbors], {n=5-40/5} years ago {who=NAME} and I started {what=this school|this company|this \
choir|this garden} in a garage in {t=TOWN}. ?? How did it start?
We had {2-5} tables, no heating and one telephone. ?? What did they have at the beginning?
The first winter was so cold that the ink froze. ?? What was the first winter like?
Everyone told us to give up, and {a JOB} even offered to buy the tables. ?? What did everyone tell them?
Today there are {90-800/10} of us, in {2-8} countries. ?? How many people are part of it today?
What has not changed is that we eat lunch together every {DAY}. ?? What has not changed?
I want to thank the people who clean these rooms before we come and after we leave. ?? Whom does the speaker thank?
Please raise your glasses to the next {5-40/5} years. ?? What are the listeners asked to do?

complaint
To the manager: on {d=DAY} I stayed in room {n=101-540/3} of your hotel in {t=CITY} with my [family|mother|two colleagues]. ?? In which \
room did the writer stay?
The heating could not be turned down, and the window did not open. ?? What was wrong with the room?
At {2-4} in the morning the fire alarm rang for {10-40/5} minutes, without a fire. ?? What happened at night?
When we called the front desk, nobody answered. ?? What happened when they called the front desk?
Breakfast ended at {8-9}, although your website says {10-11}. ?? What was wrong with breakfast?
The young man at the exit, {NAME}, was very kind and called a taxi for us. ?? Who was kind?
I expect half of the {120-480/20} dollars back. ?? What does the writer expect?
Please answer within {7-21/7} days. ?? Within what time is an answer expected?
"""
