"""Translations into many languages and from some."""

from domino_jax.train.tasks.grammar import lines, words

TEMPLATES = lines("""
Translate into {LANGUAGE}: {SENTENCE}
Translate the following sentence [to|into] {LANGUAGE}.¶¶{SENTENCE}
How do you say "{SENTENCE}" in {LANGUAGE}?
What is "{PHRASE}" in {LANGUAGE}[?|, and how is it pronounced?| and in {LANGUAGE}?]
English: {SENTENCE}¶{LANGUAGE}:
Please translate this text into {LANGUAGE}:¶¶{SENTENCE} {SENTENCE}[| {SENTENCE}]
{ASK} translate this into {LANGUAGE}? "{SENTENCE}"
Translate into {LANGUAGE} and then word by word back into English: {SENTENCE}
Give a [formal|casual|literal] {LANGUAGE} translation of: "{SENTENCE}"
I am traveling to {COUNTRY}. How do I say there: "{PHRASE}"?
Translate these phrases into {LANGUAGE}:¶- {PHRASE}¶- {PHRASE}¶- {PHRASE}
Make a table with English and {LANGUAGE}: {PHRASE}; {PHRASE}; {PHRASE}; {PHRASE}
Translate the words {INGREDIENT}, {INGREDIENT}, {INGREDIENT} and {INGREDIENT} into {LANGUAGE}.
Translate this message to {RELATION} into {LANGUAGE}, in {a TONE} tone: {SENTENCE}
Translate from German to English: {GERMAN}
Translate German to English: {GERMAN} {GERMAN}
Translate from French into English: {FRENCH}
Was heißt das auf Englisch? "{GERMAN}"
Comment dit-on en anglais : "{FRENCH}" ?
¿Cómo se dice en inglés? "{SPANISH}"
Translate the Spanish sentence: {SPANISH}
Spanish: {SPANISH}¶English:
What does this mean in English? "[{GERMAN}|{FRENCH}|{SPANISH}|{ITALIAN}]"
Translate this from Italian: {ITALIAN}
Which language is this, and what does it mean? [{GERMAN}|{FRENCH}|{SPANISH}|{ITALIAN}]
Translate to English, and explain the grammar of the verb: [{GERMAN}|{FRENCH}|{SPANISH}|{ITALIAN}]
Translate the German sentence into English and [French|Spanish|Italian]: {GERMAN}
Check my translation into [German|French|Spanish] of "{SENTENCE}": I only know the first half. What would be right?
Translate {2-5} simple sentences about {HOBBY} into {LANGUAGE}; write the English ones, too.
Write a short dialogue in {LANGUAGE} in which someone says "{PHRASE}", with an English translation.
Translate this into {LANGUAGE}:¶¶{sentence}
Translate the following {genre} into {LANGUAGE}.¶¶{text}
Translate the first sentence into {LANGUAGE} and summarize the rest in English.¶¶{text}
""")
LANGUAGE = words(
    """German; French; Spanish; Italian; Portuguese; Dutch; Swedish; Polish; Turkish; Japanese; Chinese; Korean; Russian; Arabic; Hindi;
    Greek; Czech; Danish; Finnish; Vietnamese; Indonesian; Swahili; Latin; Romanian; Hungarian; Norwegian; Hebrew; Ukrainian"""
)
PHRASE = words(
    """Good morning; Thank you very much; Where is the station?; How much does this cost?; I do not understand; Could you speak more
    slowly?; The bill, please; I am lost; See you tomorrow; What time is it?; I would like a coffee; Nice to meet you; Happy birthday;
    Is this seat free?; I am allergic to {INGREDIENT}; A ticket to {CITY}, please; My name is {NAME}; I am {a JOB}; We need a table for
    {2-8}; Where can I buy {INGREDIENT}?; Excuse me, is there a pharmacy near here?; I come from {COUNTRY}; Have a good trip; What do
    you recommend?; The weather is beautiful today; Can you help me?"""
)
SENTENCE = words(
    """The train to {CITY} leaves at {6-22}:{10-50/10}.; {NAME} forgot the keys on the kitchen table again.; We would like a room with a
    view of the sea for {2-9} nights.; My neighbor, {a JOB}, has lived here for {2-40} years.; The museum is closed on {DAY}, but the
    garden is open.; If it rains tomorrow, we will stay at home and cook {FOOD}.; {NAME} has been learning {HOBBY} since {MONTH}.; The
    children were so tired that they fell asleep in the car.; Please do not feed the birds.; I have never seen {ANIMAL} in the wild.;
    Yesterday I met {a JOB} from {COUNTRY} who speaks {3-7} languages.; Could you tell me how to get to the town hall?; The price has
    gone up by {3-40} percent since {MONTH}.; She put the letter back into the drawer and closed it slowly.; Although the road was long,
    nobody complained.; The more you read, the more you want to know.; We need {INGREDIENT}, {INGREDIENT} and {INGREDIENT} for dinner.;
    Your parcel will arrive on {DAY} between {8-11} and {13-18} o'clock.; He would have called if he had known the number.; They are
    building a new bridge across the river.; In {MONTH} the market opens an hour earlier.; {NAME} and {NAME} got married in {CITY} last
    year.; The doctor says I should drink more water and sleep longer.; This is the house in which my grandmother was born.; Turn left
    after the bakery and go straight on for {100-900/50} meters.; I am looking for {THING} for {RELATION}.; The meeting has been
    postponed until {DAY}.; Everyone knows that {FACT_SHORT}.; There are {3-20} chairs in the room, but only {2-9} guests.; What would
    you do with {200-9000/100} dollars?"""
)
FACT_SHORT = words(
    """practice makes perfect; time flies; the early bird catches the worm; hot air rises; bees make honey; the Earth is round"""
)
GERMAN = words(
    """Der Zug nach [Köln|Hamburg|Wien|Basel] hat heute {10-90/5} Minuten Verspätung.; Ich habe gestern {2-9} Bücher in der Bibliothek
    ausgeliehen.; Wenn es morgen regnet, bleiben wir zu Hause und spielen Karten.; Meine Großmutter backt jeden
    [Sonntag|Samstag|Freitag] einen Apfelkuchen.; Könnten Sie mir bitte sagen, wo der nächste Supermarkt ist?; Die Stadt will
    {20-300/10} neue Bäume pflanzen, damit es im Sommer kühler wird.; Obwohl er müde war, hat er bis {9-11} Uhr abends gearbeitet.; Das
    Museum zeigt ab [Mai|Juni|Oktober] alte Fotos aus dem Hafen.; Sie hat sich ein Fahrrad gekauft, weil der Bus zu teuer geworden ist.;
    Die Kinder suchen seit {2-5} Stunden ihre Katze.; Vor {10-90/10} Jahren gab es hier nur Wiesen und einen kleinen Bach.; Der Arzt
    riet mir, mehr zu schlafen und weniger Kaffee zu trinken."""
)
FRENCH = words(
    """Le marché ouvre à {6-9} heures tous les [mardis|jeudis|samedis].; Je voudrais réserver une table pour {2-9} personnes.; Il fait trop
    froid pour se baigner dans le lac.; Ma sœur travaille depuis {2-20} ans dans une petite librairie.; Nous avons perdu nos clés
    pendant la promenade dans la forêt.; Si j'avais plus de temps, j'apprendrais à jouer du piano.; Le train de
    [Lyon|Paris|Nantes|Genève] est arrivé avec {10-50/5} minutes de retard.; Les enfants dessinent des bateaux sur le mur de l'école.;
    Pouvez-vous parler plus lentement, s'il vous plaît ?; La mairie veut planter {20-200/10} arbres avant l'hiver.; Elle a oublié son
    parapluie dans le bus hier soir.; Personne ne savait pourquoi la lumière s'était éteinte."""
)
SPANISH = words(
    """El tren sale a las {6-9} de la mañana desde [Madrid|Sevilla|Valencia].; Mi abuelo tiene un huerto con {3-30} naranjos.; Quisiera una
    habitación para {2-7} noches, por favor.; Los niños juegan en la plaza hasta que se hace de noche.; No encuentro mis gafas, ¿las has
    visto?; Si llueve mañana, iremos al museo.; La panadería de la esquina abre también los domingos.; Hace {2-20} años que vivimos en
    esta calle.; Me gustaría aprender a cocinar como mi madre.; El ayuntamiento va a construir {2-6} parques nuevos.; Perdí el autobús
    porque me quedé dormido.; ¿Cuánto cuestan estas manzanas?"""
)
ITALIAN = words(
    """Il treno per [Roma|Milano|Torino] parte fra {10-50/5} minuti.; Mia nonna fa la pasta in casa ogni domenica.; Vorrei un caffè e un
    bicchiere d'acqua, per favore.; Abbiamo camminato per {2-6} ore senza incontrare nessuno.; La biblioteca chiude alle {5-8} di sera.;
    Non ho capito la domanda, può ripetere?; I bambini hanno trovato un gatto nel giardino.; Se domani fa bel tempo, andiamo al mare.;
    Il negozio ha venduto {20-200/10} biciclette in un mese.; Mio fratello studia da {2-5} anni a Bologna."""
)
