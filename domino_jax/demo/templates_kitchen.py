"""Word problems about cooking, parties and meals."""

from domino_jax.demo.template import Template

TEMPLATES = [
    Template(
        "pastry_tins",
        "who NAMES, pastries PASTRIES, tins 3-12, inside 5-19, burnt 2-19, trays 2-9, good = tins * inside, baked = good + burnt, "
        "each = baked / trays",
        """
        {who} bakes {trays} trays of {each} {pastries}. {burnt} of them burn. If {who} fills {tins} tins with the good {pastries}, the same
        number in every tin, how many are in a tin?
        {who} bakes {trays * each = baked} {pastries} on the trays.
        Since {burnt} burn, only {baked - burnt = good} {pastries} are good.
        Filling {tins} tins with them, {who} packs {good / tins = inside} {pastries} in every tin.
        """,
        """
        The oven of {who} was too hot: {burnt} of the {pastries} on {trays} trays are black. Each tray had {each} {pastries}. Those that can
        be eaten are divided equally among {tins} tins. How many {pastries} does {who} put into one tin?
        On the trays in the oven there were {trays * each = baked} {pastries}.
        The oven has spoiled some, and {who} can use {baked - burnt = good} {pastries}.
        Into one tin {who} puts {good / tins = inside} {pastries}.
        """,
    ),
    Template(
        "guests_and_dishes",
        "who NAMES, dishes DISHES, guests 5-24, each 3-8, extra 4-29, made 10-59",
        """
        {who} expects {guests} guests, and each is to get {each} {dishes}. For safety {who} wants {extra} {dishes} more than that. So far
        {made} are ready. How many {dishes} must {who} still make?
        The guests of {who} will eat {guests * each = eaten} {dishes}.
        For safety {who} wants {eaten + extra = wanted} {dishes}.
        Since {made} are ready, {who} must still make {wanted - made = missing} {dishes}.
        """,
        """
        On the kitchen table of {who} lie {made} {dishes}. Tonight {guests} people will come and eat {each} each, and {extra} should be left
        for tomorrow. How many more {dishes} are needed?
        {who} needs {guests * each = eaten} {dishes} for the people tonight.
        With those for tomorrow {who} needs {eaten + extra = wanted} {dishes}.
        There are {made} on the table, so {wanted - made = missing} more {dishes} are needed.
        """,
        """
        How many {dishes} has {who} yet to make for the feast, if {made} are made, {extra} are promised to the neighbors, and {guests}
        guests will have {each} each?
        At the feast the guests of {who} will have {guests * each = eaten} {dishes}.
        Guests and neighbors together get {eaten + extra = wanted} {dishes}.
        With {made} made already, {who} has yet to make {wanted - made = missing} {dishes} for the feast.
        """,
    ),
    Template(
        "pitchers",
        "who NAMES, drink DRINKS, day DAYS, pitchers 3-11, glasses 5-12, spilled 2-8, players 8-29",
        """
        {who} fills {pitchers} pitchers with {drink} for the summer party on {day}. A pitcher is enough for {glasses} glasses. {spilled}
        glasses are spilled, and {players} children drink one glass each. How many glasses of {drink} are left?
        {who} has {drink} for {pitchers * glasses = full} glasses.
        After the accident there is enough for {full - spilled = kept} glasses.
        When the children have had theirs on {day}, {kept - players = left} glasses of {drink} are left.
        """,
        """
        At {day}'s party {players} children have a glass of {drink} each, and {spilled} more glasses fall over. {who} had prepared
        {pitchers} pitchers for {glasses} glasses each. How many glasses can still be poured?
        On {day} {players + spilled = gone} glasses of {drink} are drunk or fall over.
        The pitchers of {who} held {pitchers * glasses = full} glasses.
        So {who} can still pour {full - gone = left} glasses of {drink}.
        """,
    ),
    Template(
        "pizza_slices",
        "who NAMES, club CLUBS, pizzas 4-12, slices 6-12, young 4-14, old 3-11, few 2-3, many 3-5",
        """
        {who} orders {pizzas} pizzas for the {club}, cut into {slices} slices each. {young} younger members eat {few} slices each, and {old}
        older ones eat {many} each. How many slices remain?
        For the {club} {who} has {pizzas * slices = total} slices of pizza.
        The younger members eat {young * few = less} slices.
        The older members eat {old * many = more} slices.
        That is {less + more = eaten} slices for the whole {club}.
        In the boxes of {who} there remain {total - eaten = left} slices.
        """,
        """
        At the meeting of the {club} there are {old} older members, who take {many} slices of pizza each, and {young} younger ones, who take
        {few}. {who} has brought {pizzas} pizzas with {slices} slices. What is left of them, in slices?
        The older members of the {club} take {old * many = more} slices.
        The younger ones take {young * few = less} slices.
        {who} has brought {pizzas * slices = total} slices.
        Without those of the older members there are {total - more = some} slices.
        When the younger ones are served too, {who} has {some - less = left} slices left.
        """,
    ),
    Template(
        "soup_pots",
        "who NAMES, vegetable VEGETABLES, town TOWNS, pots 3-9, bowls 8-24, people 20-119, more 3-19",
        """
        For the street festival in {town} {who} cooks {pots} pots of soup from {vegetable}; one pot fills {bowls} bowls. At noon {people}
        people have a bowl each, and {more} of them come back for another. How many bowls can {who} still serve?
        The pots of {who} fill {pots * bowls = full} bowls with soup from {vegetable}.
        At noon the people of {town} eat {people + more = eaten} bowls.
        So {who} can still serve {full - eaten = left} bowls of soup.
        """,
        """
        In {town} {who} has served {people} bowls of soup with {vegetable} in the morning and {more} in the afternoon. There were {pots}
        pots with enough for {bowls} bowls each. How many bowls of the soup are left?
        The soup with {vegetable} was enough for {pots * bowls = full} bowls.
        After the morning in {town}, {who} has {full - people = rest} bowls left.
        After the afternoon {who} has {rest - more = left} bowls left.
        """,
    ),
    Template(
        "party_bags",
        "who NAMES, first SWEETS, second SWEETS, relative RELATIVES, bags 4-12, each 5-19, some 20-99, eaten 3-19, total = bags * each, "
        "all = total + eaten, rest = all - some",
        """
        {who} has {some} {first} and {rest} {second} for a birthday party. The {relative} eats {eaten} of them in secret. The others go into
        {bags} bags, equally many sweets in each. How many sweets does a guest of {who} find in a bag?
        Counting {first} and {second} together, {who} has {some + rest = all} sweets.
        The {relative} leaves {all - eaten = total} of them for the party.
        In a bag a guest of {who} finds {total / bags = each} sweets.
        """,
        """
        To fill {bags} party bags evenly, {who} has bought {rest} {second} and {some} {first}, but {eaten} of all these sweets are set aside
        for the {relative}. How many sweets will be in every bag?
        {who} has bought {rest + some = all} sweets, {second} and {first}.
        Without those for the {relative} there are {all - eaten = total} sweets.
        Evenly shared, every bag that {who} fills has {total / bags = each} sweets.
        """,
    ),
    Template(
        "party_balloons",
        "who NAMES, day DAYS, packs 3-9, inside 8-20, burst 2-14, tables 3-12, each 3-9",
        """
        {who} blows up {packs} packs of {inside} balloons for {day}, and {burst} of them burst. Then {who} ties {each} balloons to each of
        {tables} tables. How many balloons are left for the ceiling?
        There are {packs * inside = all} balloons in the packs of {who}.
        After {burst} of them burst, {who} has {all - burst = whole} balloons for {day}.
        For the tables {who} uses {tables * each = tied} balloons.
        For the ceiling there are {whole - tied = left} balloons left.
        """,
        """
        On {day} there will be {tables} tables with {each} balloons at every table, and the rest will hang from the ceiling. {who} opens
        {packs} packs with {inside} balloons in each but loses {burst} to a cactus. How many hang from the ceiling?
        At the tables on {day} there are {tables * each = tied} balloons.
        {who} takes {packs * inside = all} balloons out of the packs.
        The tables and the cactus together take {tied + burst = gone} balloons.
        From the ceiling {who} can hang {all - gone = left} balloons.
        """,
    ),
    Template(
        "dumpling_contest",
        "one NAMES, two NAMES, dishes DISHES, speed 5-20, faster 2-9, minutes 3-12, eaten 5-39",
        """
        {one} makes {speed} {dishes} an hour and {two} makes {faster} an hour more than {one}. They work for {minutes} hours, and then the
        two of them eat {eaten} {dishes}. How many {dishes} are left?
        {two} makes {speed + faster = quick} {dishes} an hour.
        In {minutes} hours {one} makes {speed * minutes = first} {dishes}.
        In the same time {two} makes {quick * minutes = second} {dishes}.
        Together {one} and {two} make {first + second = made} {dishes}.
        When they have eaten, {made - eaten = left} {dishes} are left.
        """,
        """
        For {minutes} hours {two} and {one} stand in the kitchen making {dishes}: {one} at {speed} an hour, {two} at {faster} more than
        that. The family takes {eaten} of the {dishes}. How many {dishes} go into the freezer?
        In an hour {two} makes {faster + speed = quick} {dishes}.
        In an hour {two} and {one} together make {quick + speed = hourly} {dishes}.
        By the end they have made {hourly * minutes = made} {dishes}.
        The family leaves {made - eaten = left} {dishes} for the freezer of {two} and {one}.
        """,
    ),
    Template(
        "bigger_recipe",
        "who NAMES, pastries PASTRIES, town TOWNS, serves 3-12, batches 2-9, flour 10-60, bag 10-60, people = serves * batches",
        """
        A recipe for {pastries} serves {serves} people and needs {flour} spoons of flour. {who} bakes {pastries} for {people} people in
        {town} and spills another {bag} spoons of flour. How many spoons of flour does {who} use up?
        For {people} people {who} bakes {people / serves = batches} times the recipe.
        The {pastries} need {batches * flour = needed} spoons of flour.
        With what is spilled, {who} uses up {needed + bag = used} spoons of flour in {town}.
        """,
        """
        {who} cooks for a hall in {town} with {people} people in it. The {pastries} on the menu take {flour} spoons of flour for every
        {serves} people, and the soup takes {bag} spoons in all. How many spoons of flour are needed for both?
        The hall in {town} needs {people / serves = batches} rounds of {pastries}.
        For these {who} takes {flour * batches = needed} spoons of flour.
        For the {pastries} and the soup {who} takes {needed + bag = used} spoons.
        """,
    ),
    Template(
        "fruit_skewers",
        "who NAMES, first FRUITS, second FRUITS, one 3-6, other 2-5, skewers 8-30, have 60-300",
        """
        On a skewer {who} puts {one} pieces of {first} and {other} pieces of {second}. For the school fair {who} has cut {have} pieces of
        fruit and makes {skewers} skewers. How many pieces are not used?
        On each skewer {who} puts {one + other = each} pieces, {first} and {second}.
        For all the skewers {who} needs {each * skewers = used} pieces of fruit.
        After the work {have - used = left} pieces are not used.
        """,
        """
        {skewers} skewers with {one} pieces of {first} and {other} pieces of {second} on each: that is what {who} has made. At the start
        {have} pieces of fruit were in the bowl. How many pieces are in it now?
        The skewers of {who} hold {skewers * one = some} pieces of {first}.
        They hold {skewers * other = more} pieces of {second}.
        That makes {some + more = used} pieces of fruit.
        So {have - used = left} pieces are now in the bowl of {who}.
        """,
    ),
    Template(
        "picnic_baskets",
        "who NAMES, team TEAMS, boxes CONTAINERS, pastries PASTRIES, number 3-12, each 6-20, adults 5-20, few 2-4, players 8-20, many 3-6",
        """
        {who} brings {number} {boxes} of {pastries} to the picnic of the {team}, {each} in every one. The {players} players eat {many} each
        and the {adults} parents {few} each. How many {pastries} go home again?
        In the {boxes} of {who} are {number * each = all} {pastries}.
        The players of the {team} eat {players * many = first} {pastries}.
        Their parents eat {adults * few = second} {pastries}.
        After the players {all - first = rest} {pastries} are there.
        After the parents {who} carries {rest - second = left} {pastries} home.
        """,
        """
        At the picnic of the {team}, {adults} parents take {few} {pastries} each and {players} players take {many}. {who} had filled
        {number} {boxes} with {each} {pastries} each. How many has nobody taken?
        The parents take {adults * few = second} {pastries}.
        The players of the {team} take {players * many = first} {pastries}.
        Together they take {second + first = taken} {pastries}.
        {who} had filled the {boxes} with {number * each = all} {pastries}.
        So {all - taken = left} {pastries} of {who} are taken by nobody.
        """,
    ),
    Template(
        "jam_kettle",
        "who NAMES, jam PRESERVES, relative RELATIVES, ladles 12-60, jar 3-9, jars 5-40, gifts 2-19, all = jars * jar, "
        "extra = all - ladles, left = jars - gifts",
        """
        {who} cooks {jam} twice, first {ladles} ladles and then {extra}. A jar holds {jar} ladles. When all the {jam} is in jars, {gifts} of
        the jars go to {who}'s {relative}. How many jars does {who} keep?
        {who} cooks {ladles + extra = all} ladles of {jam}.
        It fills {all / jar = jars} jars.
        After the gift to the {relative}, {who} keeps {jars - gifts = left} jars of {jam}.
        """,
        """
        Two kettles of {jam} stand on the stove of {who}, one with {ladles} ladles in it, the other with {extra}. They are poured into jars
        of {jar} ladles, and the {relative} takes {gifts} jars along. How many jars of {jam} remain?
        In both kettles of {who} there are {extra + ladles = all} ladles of {jam}.
        Pouring out {jar} ladles a jar, {who} fills {all / jar = jars} jars.
        The {relative} takes some of them, and {jars - gifts = left} jars remain.
        """,
    ),
    Template(
        "restaurant_flowers",
        "who NAMES, flowers FLOWERS, money MONEY, tables 6-24, each 3-9, wilted 2-15, price 2-5, spent 10-49",
        """
        The restaurant of {who} has {tables} tables, with {each} {flowers} on every table. {wilted} {flowers} wilt overnight. Whatever has
        not wilted is sold at {price} {money} a flower, and {spent} {money} of that are spent on new vases. What is left of it?
        On the tables of {who} there are {tables * each = all} {flowers}.
        After the night {all - wilted = fresh} {flowers} are fresh.
        {who} sells them for {fresh * price = income} {money}.
        When the vases are paid, {income - spent = left} {money} are left.
        """,
        """
        {who} sells the {flowers} from the restaurant's {tables} tables at {price} {money} each. Each table had {each}, but {wilted} have
        wilted and go to the compost. A cleaner is paid {spent} {money} from what the {flowers} bring. How much does {who} keep?
        The tables had {tables * each = all} {flowers}.
        Of these {who} can sell {all - wilted = fresh} {flowers}.
        They bring {fresh * price = income} {money}.
        After paying the cleaner, {who} keeps {income - spent = left} {money}.
        """,
    ),
]
