"""Who asks, who is spoken to, who is written about, and where."""

from domino_jax.demo import words as demo
from domino_jax.train.tasks.grammar import words

NAME = (*demo.NAMES, *words(
    """Anna; Ben; Clara; David; Emma; Felix; Grace; Henry; Irene; Jack; Kate; Leo; Maria; Nina; Oscar; Paula; Quentin; Rosa; Sam; Tess;
    Ursula; Victor; Wendy; Yara; Zoe; Ahmed; Bea; Carlos; Diego; Elif; Fiona; Gabriel; Hannah; Ivan; Jasmine; Karim; Laura; Marco; Nora;
    Omar; Pedro; Ruth; Sofia; Thomas; Uma; Vera; William; Mei; Jun; Akiko""",
))  # fmt: skip
SURNAME = words(
    """Alvarez; Becker; Chen; Dubois; Eriksen; Fontaine; Garcia; Haddad; Ivanova; Jensen; Kowalski; Lindgren; Moreau; Nakamura; Okafor;
    Patel; Quinn; Rossi; Schneider; Tanaka; Usman; Vargas; Walker; Yilmaz; Ziegler; Osei; Novak; Silva; Murphy; Khan"""
)
AUDIENCE = words(
    """a five-year-old; a ten-year-old; a curious teenager; a high school student; a first-year university student; my grandmother; someone
    who has never studied science; a busy manager; a new colleague; a visitor from another planet; a class of third graders; a beginner;
    an expert who wants the details; a friend at dinner; someone learning English; a journalist; a small business owner; parents at a
    school meeting; a retired engineer; a nurse on a short break; a group of museum visitors; an impatient reader; a twelve-year-old who
    loves football; a farmer; a bus driver; readers of a local newspaper; a total layperson; a musician; a cook; someone who is afraid
    of maths; a room of sleepy students; a lawyer; a new volunteer; a shop assistant; an apprentice carpenter"""
)
JOB = words(
    """teacher; nurse; baker; electrician; software developer; gardener; librarian; accountant; taxi driver; carpenter; chef; plumber;
    graphic designer; journalist; firefighter; dentist; veterinarian; farmer; hairdresser; pharmacist; architect; translator; tailor;
    park ranger; museum guide; lifeguard; mechanic; photographer; social worker; receptionist; data analyst; project manager; midwife;
    bookseller; beekeeper; train conductor; flight attendant; sound engineer; optician; physiotherapist; surveyor; event planner;
    waiter; night guard; postal worker; lab technician; air traffic controller; speech therapist; sales manager; florist; watchmaker;
    geologist; customer support agent; warehouse worker; tour guide; ski instructor; roofer; butcher; human resources officer;
    kindergarten teacher"""
)
PERSONA = words(
    """a patient tutor; a cheerful tour guide; a strict editor; an old sea captain; a friendly librarian; a sarcastic robot; a medieval
    blacksmith; a travel agent; a wise grandmother; a detective in a foggy city; a shy dragon; a fitness coach; a job interviewer; a
    customer who is unhappy with a delivery; a chef with strong opinions; a museum curator; a time traveller from the year 2300; a
    talking oak tree; a calm doctor; a hotel receptionist; a space station commander; a pirate who has retired; a stand-up comedian; a
    careful scientist; a street musician; a chess champion; a lighthouse keeper; a palace cook in ancient Rome; a nervous ghost; a
    football commentator; a village mayor; a weather forecaster; a cat that runs a bookshop; a startup founder; a philosophy professor;
    a gardener who talks to plants; a knight who lost a horse; a spaceship's computer; a kind judge; a market seller"""
)
RELATION = words(
    """my sister; my brother; my best friend; my neighbor; my colleague; my boss; my landlord; my old teacher; my cousin; my uncle; my
    roommate; my daughter's teacher; my aunt; my team; my grandfather; my former manager; my doctor; my coach; my parents"""
)
PLACE = words(
    """a small village; a busy harbor; a mountain hut; a night train; an old library; a desert town; a space station; an island with one
    shop; a rainy capital; a school canteen; a flower market; an empty theater; a lighthouse; a hospital corridor; a snowed-in airport;
    a bakery before sunrise; a deep forest; a football stadium; a flooded street; a museum at night; a crowded bus; an abandoned mine"""
)
CITY = words(
    """Lisbon; Kyoto; Nairobi; Montreal; Prague; Buenos Aires; Istanbul; Oslo; Hanoi; Marrakesh; Vienna; Cape Town; Seoul; Edinburgh;
    Mexico City; Rome; Athens; Berlin; Dublin; Singapore; Copenhagen; Lima; Chicago; Melbourne; Budapest; Seville; Krakow; Havana;
    Accra; Vancouver; Amsterdam; Naples; Tbilisi; Bogota; Helsinki; Mumbai; Boston; Zurich; Manila; Auckland; Reykjavik; Tokyo; Cairo;
    Paris"""
)
COUNTRY = words(
    """Portugal; Kenya; Norway; Japan; Brazil; Canada; Poland; Vietnam; Morocco; Chile; Greece; India; Mexico; Iceland; Thailand; Egypt;
    Finland; Argentina; Turkey; South Korea; Ireland; Peru; New Zealand; Ghana; Hungary; Indonesia; Austria; Colombia; Jordan; Ethiopia;
    Switzerland; Cuba; Nepal; Denmark; Australia; Senegal; Croatia; Mongolia; Spain; Nigeria; Estonia; Bolivia; Malaysia; the
    Philippines; Tunisia; Belgium; Uruguay; Tanzania; Romania; Sri Lanka; the Netherlands; Ecuador; Latvia; Madagascar; Bulgaria;
    Kazakhstan"""
)
TOWN = (*demo.TOWNS, *words("Millbrook; Ashford; Fairhaven; Westbridge; Oakridge; Redcliff; Harwick; Stonefield; Larkhill; Eastport"))
DAY = words("Monday; Tuesday; Wednesday; Thursday; Friday; Saturday; Sunday")
MONTH = words("January; February; March; April; May; June; July; August; September; October; November; December")
COMPANY = words(
    """Brightleaf; Northwind Tools; Cedar & Sons; BlueHarbor; Tallgrass; Lumen Books; Pinecone Bikes; Saltwater Foods; Ironbridge; Velora;
    Quickstep Shoes; Hearth and Home; Orbit Media; Riverstone; Maple Street Bakery; Sunfield Solar; Peakline; Dovetail Furniture;
    Greenway Travel; Papertrail; Copper Kettle; Fernwood Clinic; Marigold Care; Anchor Insurance; Whitefish Software"""
)
