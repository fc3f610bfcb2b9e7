"""Word problems about school, reading, music and sports."""

from domino_jax.demo.template import Template

TEMPLATES = [
    Template(
        "reading_days",
        "who NAMES, day DAYS, daily 4-8, more 2-4, week 5-30, rest 2-20, faster = daily + more, first = daily * week, "
        "last = faster * rest, pages = first + last",
        """
        A novel has {pages} pages. From {day} on, {who} reads {daily} pages a day for {week} days. The story gets exciting, and {who} reads
        {more} pages a day more than before. How many more days does {who} need for the rest of the novel?
        In the first {week} days from {day} on, {who} reads {daily * week = first} pages.
        Then {pages - first = last} pages of the novel are left.
        Now {who} reads {daily + more = faster} pages a day.
        So {who} needs {last / faster = rest} more days.
        """,
        """
        {who} starts a book of {pages} pages on {day}. For {week} days {who} manages {daily} pages a day. After a visit to the eye doctor it
        is {more} pages a day more. How many days after the visit is the book finished?
        After the visit {who} manages {daily + more = faster} pages a day.
        Since {day}, {week * daily = first} pages have been read before it.
        There are {pages - first = last} pages that {who} reads after it.
        The book is finished in {last / faster = rest} days.
        """,
    ),
    Template(
        "library_shelves",
        "who NAMES, books BOOKS, club CLUBS, shelves 3-12, each 12-50, lent 8-60, given 3-20, old 20-90, all = shelves * each, "
        "here = all + given, total = here + lent, new = total - old",
        """
        The school library has {old} old and {new} new {books}. {lent} of them are lent out, and {who} gives {given} to the {club}. {who}
        puts the rest on {shelves} shelves, equally many on each. How many {books} stand on a shelf?
        The library has {old + new = total} {books}.
        Of these {total - lent = here} are not lent out.
        After the gift to the {club}, {who} has {here - given = all} {books}.
        On each shelf {who} puts {all / shelves = each} {books}.
        """,
        """
        {who} sorts {new} new and {old} old {books} in the library. {given} of these go to the {club}, {lent} are in the hands of readers,
        and the others are spread evenly over {shelves} shelves. What number of {books} does one shelf carry?
        The readers and the {club} have {lent + given = away} {books}.
        In all {who} has {new + old = total} {books}.
        So {total - away = all} {books} are for the shelves.
        One shelf carries {all / shelves = each} {books} that {who} has sorted.
        """,
    ),
    Template(
        "pencil_classes",
        "who NAMES, things STATIONERY, boxes 3-12, inside 8-30, classes 2-8, each 8-30",
        """
        {who} orders {boxes} boxes of {things} for the school, with {inside} in a box. {classes} classes get {each} {things} each. How many
        {things} are left in the office of {who}?
        {who} orders {boxes * inside = all} {things}.
        When every class has got {each} of them, the classes have {classes * each = given} {things}.
        So in the office of {who} there are {all - given = left} {things} left for later.
        """,
        """
        The teachers of {classes} classes come to {who} and take {each} {things} each from the cupboard, in which {boxes} boxes with
        {inside} {things} were. How many {things} does {who} find there afterwards?
        The teachers of all the classes together take {classes * each = given} {things} out of the cupboard.
        Before they came, {who} had {boxes * inside = all} {things} in it.
        Afterwards, when the teachers are gone, {who} finds {all - given = left} {things} there.
        """,
        """
        There are {inside} {things} in a box, and {boxes} boxes have come. How many {things} has {who} when {classes} classes have been
        given {each} of them each?
        In the {boxes} boxes that have come to the school there are {inside * boxes = all} {things}.
        To the classes, {each} to each, {who} has given {each * classes = given} of them.
        Now {who} has {all - given = left} {things}.
        """,
    ),
    Template(
        "quiz_points",
        "one NAMES, two NAMES, club CLUBS, right 8-30, points 2-6, wrong 3-15, minus 2-3, behind 3-30",
        """
        In the quiz of the {club} a right answer brings {points} points and a wrong one costs {minus} points. {one} has {right} right and
        {wrong} wrong answers. {two} is {behind} points behind {one}. How many points does {two} have?
        Right answers bring {one} {right * points = plus} points.
        Wrong answers cost {one} {wrong * minus = loss} points.
        So {one} has {plus - loss = score} points in the quiz.
        With {behind} points less {two} has {score - behind = left} points at the {club}.
        """,
        """
        {two} has reached {behind} points less than {one} at the {club}. There {points} points are given for each task that is solved and
        {minus} are taken for each that is not. {one} solved {right} tasks and failed at {wrong}. What has {two} reached?
        At the {club} {one} is given {right * points = plus} points.
        For the failed tasks {wrong * minus = loss} points are taken from {one}.
        That leaves {one} with {plus - loss = score} points.
        The result of {two} is {score - behind = left} points.
        """,
    ),
    Template(
        "basketball_baskets",
        "who NAMES, one TEAMS, two TEAMS, twos 8-30, threes 3-15, free 4-20, lead 2-20",
        """
        The {one} beat the {two} by {lead} points. The {one} made {twos} baskets for 2 points, {threes} for 3 points and {free} free throws
        for one point each. {who} writes down the points of the {two}. What does {who} write?
        The baskets for 2 points make {twos * 2 = small} points.
        The baskets for 3 points make {threes * 3 = large} points.
        From the field the {one} have {small + large = field} points.
        With free throws the {one} have {field + free = score} points.
        For the {two} {who} writes down {score - lead = other} points.
        """,
        """
        {who} trains the {two}, who have lost to the {one} by {lead} points. The {one} scored {free} points with free throws, and they hit
        {threes} shots worth 3 points and {twos} shots worth 2 points. How many points did the {two} score?
        The long shots of the {one} are worth {threes * 3 = large} points.
        The short shots are worth {twos * 2 = small} points.
        Long shots and free throws make {large + free = some} points.
        With the short shots the {one} scored {some + small = score} points.
        The {two} of {who} scored {score - lead = other} points.
        """,
    ),
    Template(
        "running_laps",
        "one NAMES, two NAMES, day DAYS, laps 2-4, lap 20-45, days 2-9, more 10-90",
        """
        A lap around the school yard is {lap} meters. Starting on {day}, {one} runs {laps} laps a day for {days} days. In the same time
        {two} runs {more} meters more than {one}. How many meters have the two of them run together?
        In a day {one} runs {laps * lap = daily} meters.
        From {day} on that makes {days * daily = first} meters.
        {two} has run {first + more = second} meters.
        Together {one} and {two} have run {first + second = both} meters.
        """,
        """
        {two} runs {more} meters more than {one} this week. From {day} on, {one} has run on {days} days, {laps} laps each day, and a lap
        measures {lap} meters. How many meters do {one} and {two} run in all?
        The laps of {one} measure {lap * laps = daily} meters a day.
        From {day} on, these days add up to {daily * days = first} meters.
        With {more} meters more {two} runs {first + more = second} meters.
        In all {two} and {one} run {second + first = both} meters.
        """,
    ),
    Template(
        "swimming_lengths",
        "who NAMES, relative RELATIVES, town TOWNS, pool 20-60 by 2, lengths 3-7, extra 2-5, goal 400-900 by 10",
        """
        A pool in {town} is {pool} meters long. {who} swims {lengths} lengths in the morning and {extra} lengths more than that in the
        evening. The {relative} of {who} has set a goal of {goal} meters. How many meters are missing?
        In the morning {who} swims {lengths * pool = early} meters.
        In the evening it is {lengths + extra = more} lengths.
        These are {more * pool = late} meters in the pool in {town}.
        The whole day makes {early + late = swum} meters.
        To the goal of the {relative} {who} is missing {goal - swum = left} meters.
        """,
        """
        {who} has promised the {relative} to swim {goal} meters in {town}, where the pool measures {pool} meters. On the first day {who}
        swims {lengths} lengths, on the second {extra} more than on the first. How many meters of the promise remain?
        On the second day {who} swims {extra + lengths = more} lengths.
        On both days together {who} swims {more + lengths = all} lengths.
        In the pool in {town} these measure {pool * all = swum} meters.
        Of the promise to the {relative} {goal - swum = left} meters remain.
        """,
    ),
    Template(
        "choir_rows",
        "who NAMES, town TOWNS, day DAYS, rows 3-12, each 6-20, ill 2-15, girls 20-99, all = rows * each, came = all + ill, "
        "boys = came - girls",
        """
        The choir of {who} has {girls} girls and {boys} boys. On {day} it sings in {town}, but {ill} of the singers are ill. The others
        stand in {rows} equal rows. How many singers does {who} see in a row?
        In the choir of {who} there are {girls + boys = came} singers.
        Since {ill} are ill, only {came - ill = all} of them can sing in {town}.
        On {day} {who} sees {all / rows = each} singers in a row.
        """,
        """
        On {day} {ill} children of a choir miss the bus to {town}. {who} lets the {boys} boys and {girls} girls in the choir, as far as they
        are there, sit on {rows} benches, the same number on each. How many sit on a bench?
        Boys and girls together are {boys + girls = came} children.
        With {ill} left behind, {who} brings {came - ill = all} of them to {town}.
        So {all / rows = each} children sit on a bench on {day}.
        """,
    ),
    Template(
        "sticker_album",
        "who NAMES, relative RELATIVES, team TEAMS, pages 6-12, each 8-20, pack 3-9, packs 3-20, gift 5-40, space = pages * each, "
        "new = packs * pack, old = space - new, have = old - gift",
        """
        The sticker album of the {team} has {pages} pages with room for {each} stickers on each. {who} has {have} stickers and gets {gift}
        others from the {relative}. With {pack} stickers in a pack, how many packs are needed to fill the album?
        In the album of the {team} there is room for {pages * each = space} stickers.
        With those from the {relative} {who} has {have + gift = old} stickers.
        So {space - old = new} stickers are missing.
        They come in {new / pack = packs} packs, which {who} needs.
        """,
        """
        {who} collects pictures of the {team}. A full album holds {pages} pages of {each} pictures; {who} owns {have} of them, and the
        {relative} brings {gift} that {who} does not own. The rest is bought in packs of {pack}. How many packs does {who} buy?
        A full album of the {team} holds {pages * each = space} pictures.
        Of these {space - have = open} are not owned by {who}.
        After the {relative} has come, {open - gift = new} are missing.
        To get them {who} buys {new / pack = packs} packs.
        """,
    ),
    Template(
        "league_points",
        "who NAMES, one TEAMS, two TEAMS, wins 5-25, draws 2-15, extra 2-9, behind 3-25",
        """
        A win brings 3 points and a draw brings one. The {one} have {wins} wins and {draws} draws, and {extra} points are taken from them
        for being late. The {two}, the team of {who}, are {behind} points behind. How many points do the {two} have?
        The wins bring {wins * 3 = won} points to the {one}.
        With the draws that makes {won + draws = sum} points.
        Being late leaves the {one} with {sum - extra = score} points.
        The {two} of {who} have {score - behind = other} points.
        """,
        """
        {who} plays for the {two}, who have {behind} points fewer than the {one}. For {wins} wins at 3 points each and {draws} draws at one
        point the {one} had a proud score, but then a fine of {extra} points. At how many points does the team of {who} stand?
        The {one} won {wins * 3 = won} points with their wins.
        With their draws they came to {won + draws = sum} points.
        After the fine {sum - extra = score} points are left for the {one}.
        The {two}, with {who}, stand at {score - behind = other} points.
        """,
    ),
    Template(
        "theater_seats",
        "who NAMES, club CLUBS, money MONEY, rows 4-10, seats 8-16, empty 5-60, price 2-7, costs 20-120",
        """
        The {club} puts on a play in a hall with {rows} rows of {seats} seats, and {empty} seats stay empty. A seat costs {price} {money}.
        {who} has paid {costs} {money} for the costumes. How many {money} does the {club} have after paying {who} back?
        In the hall there are {rows * seats = all} seats.
        On {all - empty = taken} of them sits a guest of the {club}.
        The guests pay {taken * price = income} {money}.
        When {who} is paid back, {income - costs = left} {money} are left.
        """,
        """
        {who} sells seats for the evening of the {club} at {price} {money} each. The hall has {rows} rows with {seats} seats, of which all
        but {empty} are sold. The hall must be paid with {costs} {money}. How many {money} are left after that?
        {who} could sell {rows * seats = all} seats.
        All but {empty} are sold, so {all - empty = taken} seats.
        For these {who} receives {taken * price = income} {money}.
        After paying for the hall, the {club} has {income - costs = left} {money} left.
        """,
    ),
    Template(
        "music_practice",
        "one NAMES, two NAMES, first INSTRUMENTS, second INSTRUMENTS, minutes 12-60 by 3, days 3-7, half 6-36 by 3, weekend 2-4",
        """
        {one} practices the {first} {minutes} minutes a day on {days} days of the week. {two} practices the {second} on {weekend} days, for
        {half} minutes a day more than {one}. How many minutes do they practice together in the week?
        {one} practices the {first} for {days * minutes = once} minutes.
        On a day with the {second}, {two} practices {minutes + half = long} minutes.
        In the week {two} practices {weekend * long = other} minutes.
        Together {one} and {two} practice {once + other = both} minutes.
        """,
        """
        With the {second}, {two} spends {half} minutes a day more than {one} spends with the {first}, but only on {weekend} days. {one}
        plays {minutes} minutes a day, on {days} days. For how many minutes does the house hear the {first} or the {second}?
        Each time {two} plays the {second} for {half + minutes = long} minutes.
        That gives {long * weekend = other} minutes of {second}.
        {one} gives {minutes * days = once} minutes of {first}.
        From {two} and {one} the house hears {other + once = both} minutes.
        """,
    ),
    Template(
        "letter_stamps",
        "who NAMES, one TOWNS, two TOWNS, money MONEY, near 3-12, far 3-12, cheap 2-5, more 2-6, purse 90-250 by 10",
        """
        A stamp to {one} costs {cheap} {money}, and a stamp to {two} costs {more} {money} more. {who} has {purse} {money} and writes {near}
        letters to {one} and {far} letters to {two}. What is left after buying the stamps, in {money}?
        For the letters to {one} {who} pays {near * cheap = first} {money}.
        One stamp to {two} costs {cheap + more = dear} {money}.
        For the letters to {two} {who} pays {far * dear = second} {money}.
        All the stamps cost {first + second = stamps} {money}.
        That leaves {who} with {purse - stamps = left} {money}.
        """,
        """
        {who} has friends in {one} and {two}. This winter {who} posts {far} letters to {two} and {near} to {one}. The post asks {cheap}
        {money} for a letter to {one} and {more} {money} more for one to {two}. How much is left of {purse} {money}?
        The post asks {more + cheap = dear} {money} for a letter to {two}.
        The letters to {two} cost {who} {dear * far = second} {money}.
        Then {who} has {purse - second = rest} {money}.
        The letters to {one} cost {cheap * near = first} {money}.
        After posting them all {who} has {rest - first = left} {money} left.
        """,
    ),
]
