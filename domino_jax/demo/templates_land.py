"""Word problems about farms, gardens and animals."""

from domino_jax.demo.template import Template

TEMPLATES = [
    Template(
        "quail_eggs",
        "who NAMES, town TOWNS, cellar 5-30, promised 2-9, cracked 2-14, inside 4-12, boxes 3-20, good = inside * boxes, "
        "all = good + cracked",
        """
        On a farm near {town} {who} gathers {all} quail eggs this week, of which {cracked} are cracked. The good eggs are packed in boxes of
        {inside}, and {cellar} boxes are already in the cellar, {promised} of them promised to a cook. How many boxes can {who} sell?
        Near {town} {who} gathers {all - cracked = good} eggs that are good.
        {who} packs them in {good / inside = boxes} boxes.
        With those in the cellar there are {boxes + cellar = stored} boxes of eggs.
        Some are promised, so {who} can sell {stored - promised = left} boxes.
        """,
        """
        {who} has {cellar} boxes of quail eggs in {town} and fills new ones with {inside} eggs each. Today's nests give {all} eggs, but
        {cracked} break on the way. If {promised} boxes are kept for the family, how many boxes does {who} bring to the shop?
        {who} has {all - cracked = good} whole eggs from today's nests.
        They fill {good / inside = boxes} new boxes.
        Without the family's boxes, {cellar - promised = old} of the old ones can go to {town}.
        {who} brings {old + boxes = left} boxes of eggs to the shop.
        """,
    ),
    Template(
        "orchard_rows",
        "who NAMES, trees TREES, fallen 2-14, rows 3-12, each 6-25, new 2-5, more 6-12",
        """
        The orchard of {who} has {rows} rows of {each} {trees}. A storm fells {fallen} of them. In spring {who} plants {new} new rows with
        {more} {trees} in each. How many {trees} are there now?
        Before the storm {who} has {rows * each = old} {trees}.
        After the storm {old - fallen = standing} {trees} are standing.
        The new rows have {new * more = young} {trees}.
        Now there are {standing + young = now} {trees} in the orchard of {who}.
        """,
        """
        {who} looks after {trees}: {rows} old rows, {each} in a row, and {new} young rows, {more} in a row. Beetles have killed {fallen} of
        all these {trees}. How many {trees} of {who} are alive?
        In the old rows of {who} there are {rows * each = old} {trees}.
        In the young rows there are {new * more = young} {trees}.
        Old and young together make {old + young = all} {trees}.
        The beetles have left {all - fallen = now} {trees} alive.
        """,
    ),
    Template(
        "milk_bottles",
        "who NAMES, animals MILKERS, money MONEY, number 3-9, liters 2-8, days 2-5, kept 5-40, price 2-6",
        """
        {who} milks {number} {animals}, and each gives {liters} liters a day. After {days} days {who} keeps {kept} liters to make cheese and
        sells the rest for {price} {money} a liter. How many {money} does {who} get for the milk?
        In a day the {animals} give {number * liters = daily} liters.
        In {days} days {who} has {daily * days = milk} liters of milk.
        Without the milk for cheese {milk - kept = sold} liters can be sold.
        For these {who} gets {sold * price = income} {money}.
        """,
        """
        A dairy pays {price} {money} for a liter of milk. {who} has {number} {animals} giving {liters} liters each day, saves up for {days}
        days, and uses {kept} liters at home. What does the dairy pay for all the rest?
        One of the {animals} gives {liters * days = single} liters in {days} days.
        All the {animals} of {who} give {single * number = milk} liters.
        The dairy gets {milk - kept = sold} liters of it.
        It pays {sold * price = income} {money} to {who}.
        """,
    ),
    Template(
        "bouquets",
        "who NAMES, flowers FLOWERS, others FLOWERS, one 3-9, other 3-9, bouquets 4-20, spare 2-12, had = bouquets * one, "
        "stock = had + spare",
        """
        {who} has picked {stock} {flowers} and binds bouquets of {one} {flowers} and {other} {others}. At the end {spare} {flowers} are left
        in the bucket. How many {others} has {who} used?
        At the end {who} has bound {stock - spare = had} {flowers} into bouquets.
        With {one} {flowers} in each of them, there are {had / one = bouquets} bouquets.
        To bind these bouquets {who} has also used {bouquets * other = used} {others}.
        """,
        """
        There are {one} {flowers} and {other} {others} in a bouquet. {who} starts with {stock} {flowers} and stops when {spare} of them
        remain. How many {others} are in all the bouquets together?
        {who} puts {stock - spare = had} {flowers} into bouquets before stopping.
        These are enough for {had / one = bouquets} bouquets.
        All the bouquets of {who} have {other * bouquets = used} {others} in them.
        """,
    ),
    Template(
        "vegetable_beds",
        "who NAMES, vegetables VEGETABLES, animals ANIMALS, relative RELATIVES, beds 3-10, each 8-25, eaten 3-30, share 3-40",
        """
        {who} plants {beds} beds with {each} {vegetables} in each. Then the {animals} from next door get in and eat {eaten}. {who} gives
        {share} {vegetables} to the {relative} who chased them away. How many {vegetables} does {who} have in the end?
        In {beds} beds {who} plants {beds * each = all} {vegetables}.
        The {animals} from next door eat {eaten} and leave {all - eaten = rest} of them.
        After the gift to the {relative}, {who} has {rest - share = left} {vegetables}.
        """,
        """
        The {relative} of {who} may pick {share} {vegetables} in the garden. It has {beds} beds of {each} {vegetables}, and hungry {animals}
        have eaten {eaten} in the night. How many {vegetables} remain for {who}?
        The hungry {animals} and the {relative} together take {eaten + share = gone} {vegetables}.
        In the garden of {who} grew {beds * each = all} {vegetables}.
        When all that is gone, {all - gone = left} {vegetables} remain for {who}.
        """,
    ),
    Template(
        "paddock_fence",
        "who NAMES, animals ANIMALS, money MONEY, length 10-80, gap 3-6, pairs 10-49, price 2-9, posts = pairs * 2, half = pairs * gap, "
        "width = half - length",
        """
        {who} fences a paddock for {animals}. It is {length} meters long and {width} meters wide, and all around it stands a post every
        {gap} meters. If a post costs {price} {money}, what do the posts cost?
        One long and one short side of the paddock make {length + width = half} meters.
        On these sides {who} sets {half / gap = pairs} posts.
        All around the {animals} there are {pairs * 2 = posts} posts.
        For the posts {who} pays {posts * price = cost} {money}.
        """,
        """
        The {animals} of {who} get a new field, {width} meters wide and {length} meters long. {who} sets posts around it, {gap} meters
        apart, which cost {price} {money} apiece. How many {money} does {who} pay for posts?
        Half of the fence around the {animals} is {width + length = half} meters long.
        It takes {half / gap = pairs} posts from {who}.
        These posts cost {pairs * price = some} {money}.
        The whole fence costs {who} twice as much, {some * 2 = cost} {money}.
        """,
    ),
    Template(
        "honey_jars",
        "who NAMES, flowers FLOWERS, money MONEY, spoons 3-9, jars 8-60, kept 2-30, price 2-6, honey = jars * spoons",
        """
        {who} has bees in a field of {flowers}. They give {honey} scoops of honey, and {spoons} scoops fill a jar. {who} keeps {kept} jars
        and sells the others for {price} {money} each. How many {money} does the honey bring?
        With {spoons} scoops in each, the honey from the {flowers} fills {honey / spoons = jars} jars.
        {who} keeps {kept} of these jars and sells {jars - kept = sold}.
        The honey brings {sold * price = income} {money} to {who}.
        """,
        """
        With {spoons} scoops in a jar, {who} fills jars from {honey} scoops of honey that tastes of {flowers}. All but {kept} jars are sold,
        at {price} {money} each. What do people pay to {who}?
        From all the scoops of honey {who} fills {honey / spoons = jars} jars.
        All but {kept} of them are sold, so people buy {jars - kept = sold} jars.
        For the taste of {flowers} they pay {sold * price = income} {money} to {who}.
        """,
    ),
    Template(
        "winter_hay",
        "who NAMES, animals ANIMALS, town TOWNS, money MONEY, number 3-10, bales 2-4, weeks 3-8, barn 20-99, price 2-6",
        """
        {who} keeps {number} {animals} near {town}. Each eats {bales} bales of hay a week, and the snow lasts {weeks} weeks. There are
        {barn} bales in the barn. How many {money} does {who} pay for the missing bales, at {price} {money} each?
        In a week the {animals} eat {number * bales = weekly} bales.
        While there is snow in {town}, they eat {weekly * weeks = needed} bales.
        In the barn of {who} {needed - barn = missing} bales are missing.
        For them {who} pays {missing * price = cost} {money}.
        """,
        """
        Winter near {town} is {weeks} weeks long. {who} has {barn} bales of hay and {number} {animals} that need {bales} bales a week each.
        A neighbor sells bales at {price} {money}. What must {who} spend to bring all the {animals} through the winter?
        One of the {animals} eats {bales * weeks = single} bales in a winter.
        All the {animals} of {who} eat {single * number = needed} bales.
        So {who} buys {needed - barn = missing} bales from the neighbor.
        They cost {missing * price = cost} {money} in {town}.
        """,
    ),
    Template(
        "seedling_trays",
        "who NAMES, flowers FLOWERS, trays 2-9, rows 3-9, each 4-10, dead 2-20, sold 3-60",
        """
        In the greenhouse of {who} are {trays} trays, each with {rows} rows of {each} {flowers}. {dead} {flowers} have dried up, and a
        florist buys {sold}. How many {flowers} can {who} plant out?
        On each tray there are {rows * each = tray} {flowers}.
        On all the trays of {who} there are {tray * trays = all} {flowers}.
        Of these {all - dead = alive} have not dried up.
        When the florist has left, {who} can plant out {alive - sold = left} {flowers}.
        """,
        """
        {who} has raised {flowers} on {trays} trays with {rows} rows on each and {each} plants in each row. A florist has taken {sold}, and
        slugs have ruined {dead}. What number of {flowers} does {who} still have?
        The florist and the slugs have cost {who} {sold + dead = gone} {flowers}.
        There were {trays * rows = lines} rows on the trays.
        In the rows {who} has raised {lines * each = all} {flowers}.
        So {who} still has {all - gone = left} {flowers}.
        """,
    ),
    Template(
        "wool_scarves",
        "who NAMES, relative RELATIVES, town TOWNS, need 2-9, scarves 5-40, kept 5-30, gifts 2-12, some 20-90, used = need * scarves, "
        "wool = used + kept, more = wool - some",
        """
        {who} shears sheep near {town} and spins {some} balls of wool in spring and {more} in autumn. {kept} balls are kept for socks; the
        others become scarves of {need} balls each. {gifts} scarves go to the {relative}. How many are left for {who}?
        In both seasons {who} spins {some + more = wool} balls of wool.
        For scarves there are {wool - kept = used} balls.
        They become {used / need = scarves} scarves.
        The {relative} gets some, and {scarves - gifts = left} scarves are left for {who} in {town}.
        """,
        """
        In {town} {who} knits scarves from {need} balls of wool each. Of the {more} balls in the chest and the {some} in the basket, {kept}
        are the wrong color. How many scarves are left when all the good wool is used up and the {relative} has taken {gifts}?
        In chest and basket {who} has {more + some = wool} balls.
        Without the wrong color {wool - kept = used} balls can be knitted.
        From these {who} knits {used / need = scarves} scarves.
        When the {relative} has been there, {scarves - gifts = left} scarves are left in {town}.
        """,
    ),
    Template(
        "watering_cans",
        "who NAMES, vegetables VEGETABLES, day DAYS, beds 3-12, cans 2-6, days 3-9, rain 10-90",
        """
        A bed of {vegetables} needs {cans} cans of water a day, and {who} has {beds} beds. From {day} on it is dry for {days} days, but
        {rain} cans can be filled from the rain barrel. How many cans does {who} carry from the well?
        In a day the {vegetables} of {who} need {beds * cans = daily} cans.
        In the dry days from {day} on they need {daily * days = all} cans.
        From the well {who} carries {all - rain = left} cans of water.
        """,
        """
        From {day} on, {who} waters {beds} beds of {vegetables} for {days} days, with {cans} cans for each bed every day. The first {rain}
        cans come from a barrel, the others from the river. How many cans come from the river?
        One bed of {vegetables} gets {cans * days = single} cans from {day} on.
        All the beds together get {single * beds = all} cans from {who}.
        From the river come {all - rain = left} cans.
        """,
    ),
    Template(
        "shared_harvest",
        "one NAMES, two NAMES, vegetables VEGETABLES, town TOWNS, families 3-12, share 8-40, first 20-99, all = families * share, "
        "second = all - first, more = second - first",
        """
        {one} has grown {first} {vegetables} and {two} has grown {more} more than {one}. They share their harvest equally among {families}
        families in {town}. How many {vegetables} does each family get?
        With {more} more than {one}, {two} has grown {first + more = second} {vegetables}.
        Together {one} and {two} have {first + second = all} {vegetables}.
        Shared among {families} families in {town}, that is {all / families = share} {vegetables} for each.
        """,
        """
        The {families} families of a street in {town} get all the {vegetables} that {one} and {two} grow, and the same number each. {one}
        grows {first}, which is {more} fewer than {two}. What number of {vegetables} comes to a family?
        If {two} grew only as many {vegetables} as {one}, there would be {first * 2 = twice}.
        Since {two} grows {more} more, there are {twice + more = all} {vegetables}.
        To a family in {town} come {all / families = share} {vegetables} of {one} and {two}.
        """,
    ),
    Template(
        "lake_birds",
        "who NAMES, birds BIRDS, town TOWNS, islands 3-10, each 5-25, came 10-60, left 10-80",
        """
        {who} counts {birds} on a lake near {town}: there are {islands} islands with {each} {birds} on each. In the evening {came} more
        arrive and {left} fly away. How many {birds} spend the night on the lake?
        On the islands {who} counts {islands * each = day} {birds}.
        With the new ones there are {day + came = many} {birds} near {town}.
        When some have flown away, {many - left = night} {birds} spend the night on the lake of {who}.
        """,
        """
        Near {town} {left} {birds} leave a lake at dusk while {came} others land on it. Before that {who} has seen {each} {birds} on each of
        its {islands} islands. How many {birds} does {who} find after dusk?
        Before dusk {who} has seen {each * islands = day} {birds}.
        After {left} of them leave, {day - left = few} {birds} are near {town}.
        With those that land, {who} finds {few + came = night} {birds}.
        """,
    ),
    Template(
        "feed_sacks",
        "who NAMES, animals ANIMALS, others ANIMALS, number 3-12, each 2-8, more 3-12, small 2-5, sacks 2-9, scoops 30-90",
        """
        A sack of feed has {scoops} scoops. {who} opens {sacks} sacks and gives {each} scoops to each of {number} {animals} and {small} to
        each of {more} {others}. How many scoops of feed does {who} have left?
        In the sacks of {who} there are {sacks * scoops = feed} scoops.
        The {animals} get {number * each = first} scoops.
        The {others} get {more * small = second} scoops.
        Together that is {first + second = eaten} scoops.
        {who} has {feed - eaten = left} scoops of feed left.
        """,
        """
        {who} feeds {more} {others} with {small} scoops each and {number} {animals} with {each} scoops each. The barn has {sacks} sacks of
        feed, with {scoops} scoops in a sack. What is left in the barn, in scoops?
        For the {others} {who} takes {more * small = second} scoops.
        For the {animals} {who} takes {number * each = first} scoops.
        The barn has {sacks * scoops = feed} scoops before feeding.
        After the {others} {feed - second = rest} scoops are there.
        After the {animals} of {who} {rest - first = left} scoops are left in the barn.
        """,
    ),
]
