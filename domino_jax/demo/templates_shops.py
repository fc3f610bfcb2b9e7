"""Word problems about shops, markets, prices and saving."""

from domino_jax.demo.template import Template

TEMPLATES = [
    Template(
        "market_jars",
        "who NAMES, jam PRESERVES, money MONEY, crates 3-9, jars 6-16, sold 10-99, price 2-7",
        """
        {who} drives to the market with {crates} crates of {jam}, and each crate holds {jars} jars. Before lunch {sold} jars are sold. All
        the others go after lunch, at {price} {money} a jar. How many {money} does {who} take after lunch?
        {who} drives {crates * jars = brought} jars of {jam} to the market.
        After lunch {who} still has {brought - sold = left} jars of {jam} to sell.
        At {price} {money} a jar {who} takes {left * price = taken} {money} after lunch.
        """,
        """
        There are {jars} jars in a crate of {jam}, and {who} has {crates} such crates on the market stall. A restaurant has ordered {sold}
        of the jars; the rest cost {price} {money} each and all find a buyer. What do the buyers of the rest pay altogether?
        The stall of {who} has {crates} crates with {jars} jars in each, so {crates * jars = brought} jars of {jam}.
        The restaurant takes {sold} of them, which leaves {brought - sold = left} jars for other buyers.
        These buyers pay {left * price = taken} {money} to {who} for the {jam}.
        """,
    ),
    Template(
        "furniture_sale",
        "who NAMES, things FURNITURE, money MONEY, price 20-110 by 10, pieces 2-9, delivery 5-44",
        """
        A shop sells {things} for {price} {money} each and this week takes 10 percent off. {who} orders {pieces} of the {things}, and
        delivery costs {delivery} {money} more. How many {money} does {who} pay in all?
        The shop takes {price / 10 = off} {money} off the price of each of the {things}.
        This week each one costs {who} only {price - off = reduced} {money}.
        The {pieces} {things} together cost {pieces * reduced = goods} {money}.
        With delivery {who} pays {goods + delivery = paid} {money}.
        """,
        """
        {who} has waited for the sale: the {things} that were {price} {money} apiece are now 10 percent cheaper. The van that brings
        {pieces} of them home costs {delivery} {money}. What is the whole bill?
        Ten percent of the old price is {price / 10 = off} {money}.
        In the sale {who} gets each of the {things} for {price - off = reduced} {money}.
        For {pieces} {things} that makes {pieces * reduced = goods} {money}.
        Adding the van, the whole bill of {who} is {goods + delivery = paid} {money}.
        """,
    ),
    Template(
        "saving_weeks",
        "who NAMES, goal GOALS, relative RELATIVES, money MONEY, saved 10-59, gift 5-29, weeks 2-12, weekly 3-12, have = saved + gift, "
        "missing = weeks * weekly, cost = have + missing",
        """
        {who} wants {goal} that costs {cost} {money}. So far {who} has saved {saved} {money}, and then a gift of {gift} {money} comes from
        {who}'s {relative}. If {who} puts aside {weekly} {money} a week from now on, how many weeks will it take?
        With the gift from the {relative}, {who} has {saved + gift = have} {money}.
        For {goal} {who} still needs {cost - have = missing} {money}.
        Putting aside {weekly} {money} a week, {who} needs {missing / weekly = weeks} weeks.
        """,
        """
        In the tin of {who} are {saved} {money}, and the {relative} of {who} adds {gift} {money} to them. Every week {weekly} {money} more
        go into the tin until there is enough for {goal} at {cost} {money}. After how many weeks can {who} buy it?
        The {relative} adds {gift} to the {saved} {money}, so the tin of {who} holds {saved + gift = have} {money}.
        The price of {goal} is {cost} {money}, so {cost - have = missing} {money} are missing.
        At {weekly} {money} a week {who} fills the tin in {missing / weekly = weeks} weeks.
        """,
        """
        The price of {goal} is {cost} {money}. How many weeks must {who} save {weekly} {money} a week for it, with {saved} {money} in the
        drawer and {gift} {money} from the {relative} of {who} to begin with?
        {who} needs {cost - saved = short} {money} more than the drawer holds for {goal}.
        The {relative} gives some of that, and {short - gift = missing} {money} remain to be saved.
        Saving {weekly} {money} a week takes {who} {missing / weekly = weeks} weeks.
        """,
    ),
    Template(
        "stationery_change",
        "who NAMES, first STATIONERY, second STATIONERY, money MONEY, few 2-9, many 3-11, cheap 2-7, dear 3-9, paid 60-200 by 10",
        """
        {who} puts {few} {first} at {dear} {money} each and {many} {second} at {cheap} {money} each on the counter, then pays with {paid}
        {money}. How many {money} of change does {who} get back?
        The {few} {first} cost {who} {few * dear = one} {money}.
        The {many} {second} cost {many * cheap = other} {money}.
        Together {who} has to pay {one + other = total} {money} for the {first} and {second}.
        The change from {paid} {money} is {paid - total = change} {money}.
        """,
        """
        With {paid} {money} in hand {who} goes to buy {many} {second} and {few} {first} for the new school year. One of the {second} costs
        {cheap} {money}, one of the {first} {dear} {money}. How much money does {who} bring home again?
        For {many} {second} {who} pays {many * cheap = other} {money}.
        That leaves {who} with {paid - other = rest} {money}.
        For {few} {first} {who} pays {few * dear = one} {money}.
        {who} brings {rest - one = change} {money} home from buying {second} and {first}.
        """,
    ),
    Template(
        "two_stalls",
        "one NAMES, two NAMES, crafts CRAFTS, money MONEY, sells 5-39, price 3-11, fewer 2-19, higher 2-5",
        """
        At the craft fair {one} sells {sells} {crafts} for {price} {money} each. {two} sells {fewer} {crafts} fewer, but asks {higher}
        {money} more for each. How many {money} do the two of them take together?
        {one} takes {sells * price = first} {money} for the {crafts}.
        {two} sells only {sells - fewer = number} {crafts}.
        But {two} asks {price + higher = asked} {money} for each of the {crafts}.
        So {two} takes {number * asked = second} {money}.
        Together {one} and {two} take {first + second = both} {money}.
        """,
        """
        {one} and {two} both make {crafts}. This month {one} has sold {sells} of them at {price} {money}, while {two} has sold {fewer} fewer
        than {one} at a price that is {higher} {money} higher. What have they earned in all?
        The {crafts} of {two} are sold for {price + higher = asked} {money} each.
        Of these {two} has sold {sells - fewer = number}.
        That makes {number * asked = second} {money} for {two}.
        The {crafts} of {one} have brought {sells * price = first} {money}.
        In all {two} and {one} have earned {second + first = both} {money}.
        """,
    ),
    Template(
        "fruit_stands",
        "who NAMES, fruits FRUITS, boxes CONTAINERS, money MONEY, stands 2-9, each 11-59, spoiled 4-39, price 2-9, "
        "total = stands * each, fruit = total + spoiled",
        """
        A delivery of {fruit} {fruits} arrives in {boxes}. {who} throws away the {spoiled} that are spoiled and spreads the others evenly
        over {stands} stands. If {fruits} cost {price} {money} each, how much are the {fruits} on one stand worth?
        Without the spoiled ones {who} has {fruit - spoiled = total} {fruits} from the {boxes}.
        On each stand {who} lays {total / stands = each} {fruits}.
        The {fruits} on one stand are worth {each * price = worth} {money}.
        """,
        """
        {who} unpacks {boxes} with {fruit} {fruits} and finds {spoiled} of them too soft to sell. The good ones are shared equally among
        {stands} stands and cost {price} {money} apiece. How many {money} does a stand take when it sells all of its {fruits}?
        {who} finds {fruit - spoiled = total} good {fruits} in the {boxes}.
        Each of the {stands} stands gets {total / stands = each} {fruits} from {who}.
        Selling them all, a stand takes {each * price = worth} {money}.
        """,
    ),
    Template(
        "shared_tips",
        "who NAMES, town TOWNS, money MONEY, waiters 2-9, share 8-39, first 15-69, second 15-69, pot = waiters * share, "
        "later = pot - first, third = later - second",
        """
        A small restaurant in {town} collects the tips of three evenings in a jar: {first} {money}, then {second}, then {third}. The
        {waiters} waiters, {who} among them, share the jar equally. How many {money} does {who} receive?
        The first two evenings in {town} bring {first + second = two} {money} of tips.
        With the third evening the jar holds {two + third = pot} {money}.
        Shared among {waiters} waiters, that is {pot / waiters = share} {money} for {who}.
        """,
        """
        {who} waits at tables in {town}, and all {waiters} waiters there get the same share of the tips. On Friday guests leave {first}
        {money}, on Saturday {second} and on Sunday {third}. What is the share of {who} for the three days?
        On Saturday and Sunday guests in {town} leave {second + third = late} {money}.
        Together with Friday this makes {late + first = pot} {money}.
        Each of the {waiters} waiters, and so {who}, gets {pot / waiters = share} {money}.
        """,
    ),
    Template(
        "ticket_booth",
        "who NAMES, team TEAMS, money MONEY, adults 12-59, children 12-59, dear 5-11, cheap 2-4, rent 40-119",
        """
        {who} sells tickets for the game of the {team}: {adults} for adults at {dear} {money} and {children} for children at {cheap}
        {money}. The field costs {rent} {money} of rent. How many {money} are left when the rent is paid?
        The adults who come to see the {team} pay {adults * dear = grown} {money}.
        The children pay {children * cheap = young} {money}.
        That makes {grown + young = income} {money} in the cash box of {who}.
        When the rent is paid, {who} has {income - rent = profit} {money} left for the {team}.
        """,
        """
        The {team} play tonight. {children} children have bought a ticket for {cheap} {money} and {adults} adults one for {dear} {money}.
        {who} takes {rent} {money} out of the cash box to pay for the lights. How much money stays in it?
        From the children {who} has received {children * cheap = young} {money}.
        From the adults {who} has received {adults * dear = grown} {money}.
        Before the lights are paid, the {team} have {young + grown = income} {money}.
        After paying for the lights {who} counts {income - rent = profit} {money} in the cash box.
        """,
    ),
    Template(
        "coin_jar",
        "who NAMES, goal GOALS, fives 5-29, tens 4-24, twos 6-39, spent 20-119",
        """
        For {goal} {who} has collected coins in a jar: {twos} coins worth 2 cents, {fives} worth 5 cents and {tens} worth 10 cents. How many
        cents are in the jar after {who} takes {spent} cents out again?
        The 2-cent coins of {who} are worth {twos * 2 = small} cents.
        The 5-cent coins are worth {fives * 5 = middle} cents.
        The 10-cent coins are worth {tens * 10 = large} cents.
        The two smaller kinds together are worth {small + middle = both} cents.
        For {goal} {who} has collected {both + large = jar} cents.
        After {who} takes some out, {jar - spent = left} cents are left in the jar.
        """,
        """
        {who} has emptied the piggy bank to pay for {goal} and counts {tens} ten-cent coins, {fives} five-cent coins and {twos} two-cent
        coins. {spent} cents of this belong to a friend. How many cents may {who} keep?
        The ten-cent coins make {tens * 10 = large} cents.
        The five-cent coins make {fives * 5 = middle} cents.
        The two-cent coins make {twos * 2 = small} cents.
        Tens and fives together make {large + middle = both} cents.
        The piggy bank of {who} held {both + small = jar} cents.
        Without the friend's money {who} keeps {jar - spent = left} cents for {goal}.
        """,
    ),
    Template(
        "bicycle_rental",
        "one NAMES, two NAMES, town TOWNS, money MONEY, hours 2-9, longer 2-6, rate 3-11, deposit 10-44",
        """
        Renting a bicycle in {town} costs {rate} {money} an hour and {deposit} {money} for insurance. {one} rides for {hours} hours; {two}
        keeps the bicycle {longer} hours longer. How many {money} does {two} pay?
        {one} rides for {hours} hours, so {two} rides for {hours + longer = ride} hours through {town}.
        The hours cost {two} {ride * rate = riding} {money}.
        With the insurance {two} pays {riding + deposit = paid} {money}.
        """,
        """
        {two} rents a bicycle in {town} for {longer} hours more than {one}, who has it for {hours} hours. The shop asks {deposit} {money}
        for a helmet and {rate} {money} for each hour. What is the bill of {two}?
        The bicycle stays with {two} for {longer + hours = ride} hours, longer than with {one}.
        In {town} that many hours cost {rate * ride = riding} {money}.
        The helmet comes on top, so the bill of {two} is {deposit + riding = paid} {money}.
        """,
    ),
    Template(
        "bookshop_shelf",
        "who NAMES, books BOOKS, boxes 2-8, packed 6-19, stock 15-79, sold 10-49, returned 2-11",
        """
        There are {stock} {books} in the bookshop of {who} when {boxes} more boxes come in, with {packed} {books} in a box. During the week
        {sold} are sold, and {returned} are brought back. How many {books} does {who} have at the end of the week?
        The boxes bring {boxes * packed = new} {books} to {who}.
        With them the bookshop has {stock + new = full} {books}.
        After the sales {full - sold = less} {books} are there.
        Counting those brought back, {who} has {less + returned = end} {books}.
        """,
        """
        In one week {who} sells {sold} {books} and takes {returned} back from customers. The shelf held {stock} {books} at first, and on the
        way to it were {boxes} boxes of {packed}. If these came too, how many {books} are on the shelf after the week?
        {who} sells {sold} {books} and takes some back, so {sold - returned = gone} {books} are gone for good.
        The {boxes} boxes contain {boxes * packed = new} {books}.
        With these the shelf would hold {stock + new = full} {books}.
        Without the ones that are gone, the shelf of {who} holds {full - gone = end} {books}.
        """,
    ),
    Template(
        "wholesale_sweets",
        "who NAMES, sweets SWEETS, money MONEY, bags 3-11, inside 6-12, cost 5-19, price 2-6",
        """
        {who} buys {bags} bags of {sweets} from a factory for {cost} {money} a bag. Each bag has {inside} {sweets} in it, which {who} sells
        one by one for {price} {money}. How many {money} does {who} gain?
        The bags cost {who} {bags * cost = spent} {money}.
        In them are {bags * inside = pieces} {sweets}.
        One by one they bring {pieces * price = income} {money}.
        Selling the {sweets}, {who} gains {income - spent = gain} {money}.
        """,
        """
        A bag with {inside} {sweets} costs {cost} {money} at the factory. {who} buys {bags} such bags and sells every one of the {sweets}
        for {price} {money}. What remains when the cost of the bags is taken away?
        A bag of {sweets} brings {who} {inside * price = bag} {money} when it is sold.
        A bag was bought at {cost}, so it leaves {bag - cost = each} {money}.
        With {bags} bags of {sweets} there remain {bags * each = gain} {money} for {who}.
        """,
    ),
    Template(
        "chores_money",
        "who NAMES, relative RELATIVES, things TOYS, money MONEY, washing 2-7, raking 3-11, washes 3-11, rakes 2-8, spent 5-59",
        """
        The {relative} of {who} pays {washing} {money} for washing the dishes and {raking} {money} for raking leaves. This month {who}
        washes the dishes {washes} times and rakes {rakes} times, then spends {spent} {money} on {things}. What is left?
        Washing dishes earns {who} {washes * washing = dishes} {money}.
        Raking leaves earns {rakes * raking = leaves} {money}.
        Altogether the {relative} pays {dishes + leaves = earned} {money} to {who}.
        After buying {things} {who} has {earned - spent = left} {money} left.
        """,
        """
        {who} has raked leaves {rakes} times at {raking} {money} and washed dishes {washes} times at {washing} {money}, all for the
        {relative} of {who}. How many {money} has {who} after paying {spent} {money} for {things}?
        For the leaves {who} gets {rakes * raking = leaves} {money} from the {relative}.
        For the dishes {who} gets {washes * washing = dishes} {money}.
        That is {leaves + dishes = earned} {money} in the pocket of {who}.
        The {things} are paid from it, and {earned - spent = left} {money} stay there.
        """,
    ),
    Template(
        "half_price_clothes",
        "who NAMES, clothes CLOTHES, money MONEY, price 10-98 by 2, pieces 2-9, full 2-8",
        """
        {who} buys {pieces} {clothes} on the last day of a sale, when all {clothes} are at 50 percent of their old price of {price} {money}.
        A week before, {who} had paid the old price for {full} {clothes}. How many {money} has {who} spent in all?
        A week before, {who} paid {full * price = before} {money} for the {clothes}.
        On the last day each costs {price / 2 = half} {money}.
        That day {who} pays {pieces * half = now} {money} for the {clothes}.
        In all {who} has spent {before + now = spent} {money}.
        """,
        """
        On {clothes} a shop prints a price of {price} {money}. {who} takes {full} {clothes} at that price on Friday, and {pieces} more on
        Saturday, when only 50 percent of it must be paid. What do all of them cost together?
        On Saturday each of the {clothes} costs {who} {price / 2 = half} {money}.
        Saturday's {pieces} {clothes} cost {pieces * half = now} {money}.
        On Friday {who} paid {full * price = before} {money} for the first {full}.
        All the {clothes} of {who} together cost {now + before = spent} {money}.
        """,
    ),
    Template(
        "juice_bar",
        "who NAMES, drink DRINKS, day DAYS, money MONEY, small 8-39, large 5-29, cheap 2-5, more 2-4",
        """
        On {day} {who} serves {small} small glasses of {drink} for {cheap} {money} each, and {large} large glasses that cost {more} {money}
        more than a small one. How many {money} does {who} take for {drink} on {day}?
        For small glasses of {drink} {who} takes {small * cheap = first} {money}.
        A large glass costs {cheap + more = dear} {money}.
        For large glasses {who} takes {large * dear = second} {money}.
        On {day} that makes {first + second = taken} {money} for {drink}.
        """,
        """
        {who} has a stand for {drink}. A small glass is {cheap} {money}, a large glass {more} {money} more. By the end of {day}, {large}
        large and {small} small glasses have been sold. What has been taken?
        {who} asks {cheap + more = dear} {money} for a large glass of {drink}.
        The large glasses bring {large * dear = second} {money}.
        The small glasses bring {small * cheap = first} {money}.
        By the end of {day} {who} has taken {second + first = taken} {money} for {drink}.
        """,
    ),
    Template(
        "bread_stalls",
        "who NAMES, pastries PASTRIES, town TOWNS, trays 4-11, each 8-24, sold 20-119, given 5-39",
        """
        In a bakery in {town} {who} takes {trays} trays out of the oven, each with {each} {pastries}. By evening {sold} have been sold and
        {given} given to the shelter. How many {pastries} are left for {who} to take home?
        {who} takes {trays * each = baked} {pastries} out of the oven.
        The people of {town} buy some of them, so {baked - sold = unsold} {pastries} are not sold.
        After the gift to the shelter, {unsold - given = left} {pastries} are left for {who}.
        """,
        """
        {who} bakes {pastries} in {town}, {each} on a tray and {trays} trays a day. Today customers take {sold}, and the shelter gets
        {given}. How many {pastries} has {who} at closing time?
        Customers in {town} and the shelter together take {sold + given = gone} {pastries}.
        {who} has baked {trays * each = baked} {pastries} today.
        At closing time {who} has {baked - gone = left} {pastries}.
        """,
    ),
]
