"""Short articles that are true, about nature, machines, history and society. See `passages` for the notation."""

PASSAGES = """
article about honeybees
A honeybee colony in summer has tens of thousands of workers, some hundred drones and one queen. ?? Who lives in a honeybee colony?
The queen can lay more than a thousand eggs on a single day. ?? How many eggs can the queen lay in a day?
Young workers clean cells and feed larvae; older ones fly out for nectar and pollen. ?? How does the work of a bee change with age?
A bee that has found flowers dances on the comb to tell the others the direction and the distance. ?? What is the dance of a bee for?
Nectar becomes honey when bees take water out of it by fanning their wings. ?? How does nectar become honey?
In winter the colony forms a cluster and shivers to keep warm. ?? How do bees survive the winter?
Many crops, such as apples and almonds, depend on bees for pollination. ?? Which crops depend on bees?
Mites, pesticides and a lack of flowers are the main threats to colonies. ?? What threatens bee colonies?

article about coffee
Coffee is made from the seeds of a red fruit that grows on shrubs in warm countries. ?? What is coffee made from?
Brazil, Vietnam and Colombia are among the largest producers. ?? Which countries produce the most coffee?
The fruit is picked by hand on steep land and by machine where the land is flat. ?? How is the fruit picked?
After picking, the pulp is removed and the seeds are dried for days or weeks. ?? What happens after picking?
Green beans have little taste; the aroma comes from roasting at about 200 degrees Celsius. ?? Where does the aroma come from?
Darker roasts taste more bitter and have lost some of the bean's own flavor. ?? How does a darker roast change the taste?
Caffeine blocks a substance in the brain that makes us feel tired. ?? How does caffeine keep us awake?
Ground coffee loses its smell quickly, so many people grind it just before brewing. ?? Why do people grind coffee just before brewing?

article about glaciers
A glacier forms where more snow falls in winter than melts in summer. ?? Where does a glacier form?
Over many years the snow is pressed into firn and then into ice. ?? What happens to the snow over the years?
Ice is solid, and yet a glacier flows downhill, from a few centimeters to many meters a day. ?? How fast does a glacier flow?
Stones frozen into its base scrape the rock below and carve wide valleys. ?? How do glaciers carve valleys?
The rubble that it pushes along is left as a moraine when the ice retreats. ?? What is a moraine?
Glaciers store most of the fresh water on Earth. ?? What do glaciers store?
Rivers that are fed by them carry water even in dry summers. ?? Why do rivers fed by glaciers carry water in dry summers?
Nearly all glaciers in the Alps have become shorter in the last hundred years. ?? How have glaciers in the Alps changed?

article about the printing press
Around 1450 Johannes Gutenberg of Mainz began to print with movable metal type. ?? Who began to print with movable metal type?
Each letter was cast in a mold, so that it could be used again and again. ?? Why could letters be used again?
The press itself was adapted from those used for wine and paper. ?? What was the press adapted from?
Before that, books in Europe were copied by hand, which took months. ?? How were books made before?
Printing with movable type had been known in China and Korea for centuries. ?? Where was movable type known earlier?
By the year 1500 there were presses in more than two hundred European towns. ?? How far had printing spread by 1500?
Prices of books fell, and more people learned to read. ?? What happened to the prices of books?
Pamphlets carried the ideas of the Reformation across borders within weeks. ?? How did printing help the Reformation?

article about sleep
During the night a sleeper passes through four to six cycles of about ninety minutes. ?? How long is a cycle of sleep?
Each cycle has light sleep, deep sleep and a phase with quick movements of the eyes. ?? What phases does a cycle have?
Deep sleep comes mostly in the first half of the night. ?? When does deep sleep mostly come?
The most vivid dreams happen while the eyes move, and the muscles are then almost paralyzed. ?? When do the most vivid dreams happen?
Sleep helps the brain to keep what was learned during the day. ?? How does sleep help learning?
Bright light in the evening delays the hormone melatonin and makes us fall asleep later. ?? What does bright light in the evening do?
Teenagers tend to get tired later than adults do. ?? How do teenagers differ from adults?
Adults who sleep less than seven hours make more mistakes and catch colds more easily. ?? What happens to adults who sleep too little?

article about bicycles
The first machine with two wheels in line was built by Karl Drais in 1817 and had no pedals. ?? Who built the first machine with two \
wheels in line?
Riders pushed themselves along with their feet on the ground. ?? How did riders move it?
Pedals on the front wheel came in the 1860s, and front wheels grew larger for more speed. ?? Why did front wheels grow larger?
A fall from such a high wheel was dangerous. ?? What was the danger of the high wheel?
The safety bicycle of the 1880s had two wheels of equal size and a chain to the rear wheel. ?? What was new about the safety bicycle?
Tires filled with air, sold from 1888 on, made rides smoother and faster. ?? What did tires filled with air change?
For many women the bicycle meant that they could travel alone for the first time. ?? What did the bicycle mean for many women?
In cities such as Amsterdam and Copenhagen a large share of trips is made by bicycle today. ?? In which cities are many trips made by \
bicycle?

article about volcanoes
A volcano is an opening through which molten rock, ash and gas reach the surface. ?? What is a volcano?
Most volcanoes stand along the edges of tectonic plates, many of them around the Pacific Ocean. ?? Where do most volcanoes stand?
Others, such as those of Hawaii, rise above hot spots in the middle of a plate. ?? Why are there volcanoes in Hawaii?
Runny lava builds wide, flat mountains, while sticky lava builds steep ones. ?? How does the kind of lava shape a volcano?
Ash from a large eruption can dim sunlight and cool the climate for a year or more. ?? How can an eruption change the climate?
Volcanic soil is rich in minerals, so people have always farmed on it. ?? Why do people farm on volcanic soil?
Scientists watch small earthquakes, gas and bulges in the ground to warn of eruptions. ?? How do scientists warn of eruptions?
Heat from below is used in Iceland to warm houses and make electricity. ?? How is volcanic heat used in Iceland?

article about money
Before there were coins, people traded with grain, shells, salt and metal by weight. ?? What did people trade with before coins?
The first coins we know of were struck in Lydia, in today's Turkey, before 600 BC. ?? Where were the first coins struck?
Paper money appeared in China about a thousand years ago. ?? Where did paper money first appear?
For a long time a banknote was a promise to pay out gold or silver. ?? What was a banknote for a long time?
Today money has value because a state accepts it and people trust it. ?? Why does money have value today?
Most of it exists only as numbers in the accounts of banks. ?? In what form does most money exist?
A bank that grants a loan creates a deposit, and so new money. ?? How does a bank create money?
When money loses value quickly, people try to spend it as fast as they can. ?? What do people do when money loses value quickly?

article about octopuses
An octopus has three hearts and blue blood. ?? How many hearts does an octopus have?
Two of the hearts pump blood through the gills, the third through the rest of the body. ?? What do the hearts do?
Most of its nerve cells are in its eight arms, which can taste what they touch. ?? Where are most of its nerve cells?
It changes color and texture within a second to hide or to threaten. ?? Why does it change color?
Without bones it can squeeze through any hole that is larger than its beak. ?? Through what holes can an octopus squeeze?
Octopuses open jars, use coconut shells as shelters and remember people. ?? What shows that octopuses are clever?
Most species live only one or two years. ?? How long do most species live?
The mother guards her eggs without eating and dies soon after they hatch. ?? What happens to the mother?

article about the Moon
The Moon is about 384,000 kilometers away, thirty times the width of the Earth. ?? How far away is the Moon?
It always shows us the same side, because it turns once in the time of one orbit. ?? Why do we always see the same side?
Its gravity raises the tides of the oceans. ?? What does its gravity do to the oceans?
The dark plains that we see are old lava, although they are called seas. ?? What are the dark plains?
Without air there is no weather, and footprints can last for millions of years. ?? Why do footprints last so long?
Temperatures swing from over 100 degrees at noon to far below minus 100 at night. ?? How do temperatures change?
It probably formed from the debris of a collision between the young Earth and another body. ?? How did the Moon probably form?
Twelve people walked on it between 1969 and 1972. ?? How many people have walked on the Moon?

article about deserts
A desert is a region with very little rain or snow, whether it is hot or cold. ?? What is a desert?
By that measure Antarctica is the largest desert on Earth. ?? What is the largest desert on Earth?
Only about a fifth of the Sahara is covered with sand; the rest is rock and gravel. ?? What is most of the Sahara made of?
Nights are cold because dry air and bare ground keep little warmth. ?? Why are the nights cold?
Many animals come out only after sunset. ?? When do many animals come out?
Cactuses store water in their stems and have thorns in place of leaves. ?? How do cactuses save water?
Dust from the Sahara crosses the Atlantic and fertilizes the forests of the Amazon. ?? What does dust from the Sahara do?
In the Atacama some weather stations measured no rain for years. ?? What is special about the Atacama?

article about wolves
Wolves live in families: two parents and their young of one or two years. ?? How do wolves live?
A territory can be larger than two hundred square kilometers. ?? How large can a territory be?
They howl to find each other and to keep strangers away. ?? Why do wolves howl?
A pack hunts deer, elk or wild boar, and most hunts fail. ?? How successful are most hunts?
In Yellowstone they were brought back in 1995, after seventy years without them. ?? When were wolves brought back to Yellowstone?
Since then elk avoid some valleys, and willows grow there again. ?? How has the return of wolves changed some valleys?
All dogs descend from wolves that came close to humans at least 15,000 years ago. ?? Where do dogs come from?
Farmers protect sheep with fences and with large dogs. ?? How do farmers protect their sheep?
"""
