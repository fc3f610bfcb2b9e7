"""The words that are drawn: names of many cultures, places, and things by the dozen (always plural, or without number)."""

NAMES = tuple(
    [
        "Nadia",
        "Oluwaseun",
        "Anastasia",
        "Guillermo",
        "Thandiwe",
        "Kenji",
        "Priyanka",
        "Mateusz",
        "Leilani",
        "Bjorn",
        "Fatoumata",
        "Giovanni",
        "Soledad",
        "Tariq",
        "Yevgenia",
        "Dimitrios",
        "Chiamaka",
        "Rasmus",
        "Aaliyah",
        "Joaquin",
        "Xiomara",
        "Wolfgang",
        "Ngozi",
        "Hiroshi",
        "Catalina",
        "Emeka",
        "Svetlana",
        "Rajesh",
        "Isolde",
        "Kwabena",
        "Marguerite",
        "Alejandro",
        "Sunniva",
        "Ibrahim",
        "Ekaterina",
        "Tomasz",
        "Ayodele",
        "Valentina",
        "Nikolai",
        "Zuleika",
        "Benedikt",
        "Amarachi",
        "Lorenzo",
        "Mehmet",
        "Francesca",
        "Dagny",
        "Suresh",
        "Itzel",
        "Obinna",
        "Theodora",
        "Casimir",
        "Noor",
        "Evangeline",
        "Takumi",
        "Bronwyn",
        "Esteban",
        "Lakshmi",
        "Sindre",
        "Philippa",
        "Desmond",
        "Yasmin",
        "Aleksander",
        "Mbali",
        "Rodrigo",
        "Saoirse",
        "Hamza",
        "Ingeborg",
        "Chidi",
        "Violeta",
        "Arjun",
        "Clementine",
        "Zoltan",
        "Nkechi",
        "Matteo",
        "Perpetua",
        "Jamal",
        "Katarzyna",
        "Babajide",
        "Rosalind",
        "Youssef",
        "Annika",
        "Tevita",
        "Gwendolyn",
        "Vikram",
        "Abena",
        "Leopold",
        "Samira",
        "Ignacio",
        "Solveig",
        "Kofi",
        "Meera",
        "Konstantin",
        "Adaeze",
        "Thibault",
        "Hanneke",
        "Malik",
        "Parvati",
        "Cornelius",
        "Natsuki",
        "Eluned",
        "Ezekiel",
        "Farida",
        "Ottavia",
        "Sipho",
        "Ludmila",
        "Bartholomew",
        "Aroha",
        "Faisal",
        "Genevieve",
        "Tendai",
        "Miroslav",
        "Juniper",
        "Kahurangi",
        "Dariusz",
        "Ximena",
        "Alasdair",
        "Nomvula",
        "Stellan",
        "Beatriz",
        "Emre",
        "Olympia",
        "Ranjit",
        "Delphine",
        "Mohammed",
        "Wilhelmina",
        "Tupac",
        "Seraphina",
        "Goran",
        "Chandrika",
        "Lucian",
        "Ananya",
        "Ruaridh",
        "Hortensia",
    ]
)

MONEY = ("dollars", "euros", "pounds", "rupees", "pesos", "crowns", "francs", "dinars", "shillings", "florins")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
RELATIVES = ("grandmother", "uncle", "cousin", "aunt", "neighbor", "godmother", "grandfather", "sister", "brother")
TOWNS = (
    "Valparaiso", "Gothenburg", "Casablanca", "Thessaloniki", "Marrakesh", "Reykjavik", "Ljubljana", "Montevideo", "Nagasaki",
    "Chittagong", "Wellington", "Bratislava", "Cartagena", "Samarkand", "Edinburgh", "Zanzibar", "Guadalajara", "Dubrovnik",
    "Kathmandu", "Winnipeg", "Alexandria", "Mombasa", "Tallinn", "Salamanca",
)  # fmt: skip
VILLAGES = (
    "Ambleford", "Quillhaven", "Larkmere", "Wexley Hollow", "Brindlewick", "Marlow Cross", "Osterby", "Cloverstone", "Fennmoor",
    "Upper Tansley", "Saint Orrin", "Kestrel Green",
)  # fmt: skip
PORTS = (
    "Amber Cove", "Port Marigold", "Saltmarsh Bay", "Gull Harbor", "Lantern Quay", "Coral Landing", "Driftwood Bay", "Pelican Point",
)  # fmt: skip
PEAKS = ("Eagle Peak", "Mount Alder", "Thistle Ridge", "the Copper Dome", "Mount Harrow", "Needle Rock", "the Old Shepherd", "Cloud Saddle")
TEAMS = ("Otters", "Thunderbolts", "Kingfishers", "Lynxes", "Comets", "Foxgloves", "Wolverines", "Meteors", "Herons", "Badgers")
CLUBS = ("chess club", "drama club", "robotics club", "pottery club", "debating club", "astronomy club", "hiking club", "film club")
INSTRUMENTS = ("violin", "cello", "clarinet", "accordion", "saxophone", "ukulele", "trumpet", "marimba", "flute", "banjo")
GOALS = (
    "a telescope", "a bicycle", "a tent", "a skateboard", "a camera", "a keyboard", "a kayak", "a sewing machine", "a guitar",
    "a microscope",
)  # fmt: skip
CONTAINERS = ("crates", "boxes", "baskets", "sacks", "cartons", "chests", "tubs", "hampers")

PRESERVES = (
    "cherry jam", "fig jam", "plum chutney", "orange marmalade", "pickled beets", "lime pickle", "apricot jam", "tomato relish",
    "quince jelly", "rhubarb compote",
)  # fmt: skip
PASTRIES = (
    "sesame bagels", "cheese scones", "poppy rolls", "cinnamon buns", "raisin muffins", "almond croissants", "rye rolls", "pretzels",
    "corn muffins", "honey cakes", "lemon tarts", "walnut biscuits",
)  # fmt: skip
DISHES = (
    "dumplings", "spring rolls", "samosas", "empanadas", "meatballs", "tamales", "pancakes", "fritters", "croquettes", "rice balls",
)  # fmt: skip
SWEETS = (
    "toffees", "gumdrops", "peppermints", "caramels", "lollipops", "nougat bars", "chocolate coins", "licorice sticks",
    "marzipan hearts", "sugared almonds",
)  # fmt: skip
DRINKS = ("lemonade", "ginger tea", "mint tea", "apple juice", "hibiscus tea", "iced cocoa", "barley water", "orange squash", "plum cider")
FRUITS = (
    "apricots", "nectarines", "mangoes", "pomegranates", "tangerines", "persimmons", "grapefruits", "plums", "papayas", "pears",
    "guavas", "limes",
)  # fmt: skip
VEGETABLES = (
    "cabbages", "cauliflowers", "courgettes", "pumpkins", "eggplants", "cucumbers", "artichokes", "turnips", "leeks", "beetroots",
    "radishes",
)  # fmt: skip
FLOWERS = (
    "tulips", "marigolds", "chrysanthemums", "daffodils", "carnations", "hyacinths", "sunflowers", "snapdragons", "peonies", "dahlias",
)  # fmt: skip
TREES = ("walnut trees", "olive trees", "cherry trees", "almond trees", "apple trees", "fig trees", "lemon trees", "hazel trees")
ANIMALS = ("goats", "alpacas", "donkeys", "ponies", "llamas", "calves", "buffaloes", "camels", "rabbits", "oxen")
MILKERS = ("goats", "buffaloes", "brown cows", "camels", "yaks", "spotted cows", "reindeer")
BIRDS = ("geese", "flamingos", "herons", "mallards", "swans", "pelicans", "cranes", "cormorants", "sandpipers", "storks")
TOYS = (
    "wooden trains", "kites", "puppets", "spinning tops", "teddy bears", "yo-yos", "toy boats", "jigsaw puzzles", "tin robots",
    "rag dolls",
)  # fmt: skip
STATIONERY = ("pencils", "notebooks", "erasers", "crayons", "rulers", "glue sticks", "markers", "folders", "paint brushes", "sharpeners")
CLOTHES = (
    "woollen scarves", "raincoats", "aprons", "cotton shirts", "wool caps", "waistcoats", "cardigans", "sun hats", "tunics",
    "linen jackets",
)  # fmt: skip
FURNITURE = ("desk lamps", "stools", "bookshelves", "armchairs", "mirrors", "rugs", "benches", "coat racks", "cushions", "wall clocks")
PARTS = ("hinges", "bolts", "gears", "springs", "valves", "switches", "bearings", "brackets", "pulleys", "washers")
CRAFTS = (
    "clay bowls", "candles", "baskets", "woven mats", "leather belts", "painted fans", "paper lanterns", "wooden spoons",
    "carved masks", "soap bars",
)  # fmt: skip
BOOKS = (
    "atlases", "comics", "mystery novels", "travel guides", "picture books", "poetry books", "cookbooks", "biographies",
    "fairy tales", "dictionaries",
)  # fmt: skip
