"""Word problems about factories, workshops and building."""

from domino_jax.demo.template import Template

TEMPLATES = [
    Template(
        "toy_factory",
        "who NAMES, toys TOYS, boxes CONTAINERS, machines 2-6, faulty 2-20, inside 3-12, packed 6-40, kept 2-20, good = inside * packed, "
        "made = good + faulty, hourly = made / machines, left = packed - kept",
        """
        In a factory {machines} machines make {hourly} {toys} an hour each. In the first hour {faulty} {toys} are faulty. {who} packs the
        good ones in {boxes}, {inside} in each, and keeps {kept} of the {boxes} for the fair. How many {boxes} are shipped?
        In the first hour the machines make {machines * hourly = made} {toys}.
        Of these {made - faulty = good} are good.
        {who} packs them in {good / inside = packed} {boxes}.
        Without those for the fair, {packed - kept = left} {boxes} are shipped.
        """,
        """
        {who} checks the {toys} that come from {machines} workshops, {hourly} from each, and rejects {faulty}. The others are put into
        {boxes} of {inside}. {kept} of the {boxes} go to a children's hospital. How many can be sold?
        The workshops send {machines * hourly = made} {toys} to {who}.
        When {who} has rejected the bad ones, {made - faulty = good} {toys} are left.
        They fill {good / inside = packed} {boxes}.
        After the gift to the hospital {packed - kept = left} {boxes} can be sold.
        """,
    ),
    Template(
        "brick_wall",
        "who NAMES, town TOWNS, rows 4-12, bricks 12-50, door 10-60, broken 2-20, had 200-700 by 10",
        """
        {who} builds a wall in {town} with {rows} rows of {bricks} bricks. A door in the wall saves {door} bricks, and {broken} bricks break
        during the work. {had} bricks have been delivered. How many bricks are left when {who} has finished?
        Without a door the wall takes {rows * bricks = full} bricks.
        With the door {who} lays only {full - door = laid} bricks.
        Counting the broken ones, {laid + broken = used} bricks are used.
        In {town} {had - used = left} bricks are left.
        """,
        """
        From a heap of {had} bricks {who} builds the side of a house in {town}: {rows} rows with {bricks} bricks each, but {door} bricks
        fewer because of a window. {broken} bricks fall from the scaffold and break. How many bricks stay in the heap?
        The full side of the house is {rows * bricks = full} bricks.
        Around the window {who} uses {full - door = laid} bricks in all.
        When the broken ones are thrown away, {had - broken = whole} bricks are whole.
        After the work in {town} {whole - laid = left} bricks stay in the heap of {who}.
        """,
    ),
    Template(
        "floor_tiles",
        "who NAMES, town TOWNS, money MONEY, width 3-9, spare 3-30, box 4-12, boxes 5-40, price 3-9, all = box * boxes, "
        "floor = all - spare, length = floor / width",
        """
        {who} tiles a kitchen floor in {town} with {width} rows of {length} tiles and wants {spare} spare tiles. The shop sells boxes of
        {box} tiles for {price} {money} a box. How many {money} does {who} pay?
        On the floor {who} lays {width * length = floor} tiles.
        With the spare tiles {who} needs {floor + spare = all} tiles.
        They come in {all / box = boxes} boxes.
        In {town} {who} pays {boxes * price = cost} {money} for the boxes.
        """,
        """
        A terrace in {town} is to have {length} rows of {width} stone slabs, and {who} orders {spare} slabs more in case some break. A cart
        brings {box} slabs, and each cart costs {price} {money}. What do all the carts cost {who}?
        The terrace has {length * width = floor} slabs.
        To be safe {who} orders {floor + spare = all} slabs.
        These are brought to {town} by {all / box = boxes} carts.
        All the carts cost {who} {boxes * price = cost} {money}.
        """,
    ),
    Template(
        "paint_cans",
        "who NAMES, relative RELATIVES, money MONEY, rooms 2-9, walls 2-6, cans 2-4, have 3-30, price 4-12",
        """
        {who} and {who}'s {relative} paint {rooms} rooms. Each room has {walls} walls, and a wall takes {cans} cans of paint. There are
        {have} cans in the cellar. A new can costs {price} {money}. How many {money} does {who} spend on paint?
        In a room the walls take {walls * cans = room} cans.
        In all the rooms they take {rooms * room = all} cans.
        Besides those in the cellar, {who} and the {relative} need {all - have = missing} cans.
        On these {who} spends {missing * price = cost} {money}.
        """,
        """
        A house has {rooms} rooms with {walls} walls each. {who} needs {cans} cans of paint for a wall and gets {have} cans from {who}'s
        {relative}; the others are bought for {price} {money} a can. What must {who} pay for them?
        The house has {rooms * walls = count} walls.
        For these {who} needs {count * cans = all} cans of paint.
        The {relative} gives some, and {all - have = missing} cans are bought.
        For them {who} must pay {missing * price = cost} {money}.
        """,
    ),
    Template(
        "shirt_buttons",
        "who NAMES, clothes CLOTHES, others CLOTHES, pieces 4-25, more 3-20, buttons 4-10, fewer 2-6, lost 2-15",
        """
        {who} sews {buttons} buttons on each of {pieces} {clothes} and {fewer} buttons on each of {more} {others}. {lost} buttons roll under
        the cupboard and are lost. How many buttons has {who} taken from the drawer?
        The {clothes} get {pieces * buttons = first} buttons.
        The {others} get {more * fewer = second} buttons.
        On {clothes} and {others} {who} sews {first + second = sewn} buttons.
        With the lost ones {who} has taken {sewn + lost = taken} buttons.
        """,
        """
        A tailor named {who} makes {more} {others} with {fewer} buttons each and {pieces} {clothes} with {buttons} each. Besides, {lost}
        buttons break. How many buttons does {who} use up?
        For the {others} {who} needs {more * fewer = second} buttons.
        Together with the broken ones that makes {second + lost = some} buttons.
        For the {clothes} {who} needs {pieces * buttons = first} buttons.
        So {who} uses up {some + first = taken} buttons.
        """,
    ),
    Template(
        "candle_workshop",
        "one NAMES, two NAMES, crafts CRAFTS, money MONEY, speed 4-12, hours 3-9, slower 2-3, wage 40-150, price 2-5",
        """
        {one} makes {speed} {crafts} an hour, and {two}, who is still learning, makes {slower} fewer. After {hours} hours they sell all
        their {crafts} for {price} {money} each and give {wage} {money} to the owner of the workshop. How many {money} can they keep?
        In an hour {two} makes {speed - slower = learning} {crafts}.
        Both together make {speed + learning = hourly} {crafts} an hour.
        In {hours} hours they make {hourly * hours = made} {crafts}.
        These are sold for {made * price = income} {money}.
        Then {one} and {two} can keep {income - wage = left} {money}.
        """,
        """
        In a workshop {crafts} are sold for {price} {money} each. {one} can finish {speed} of them in an hour, {two} {slower} fewer than
        that. The two work for {hours} hours, sell everything, and pay {wage} {money} for material. What is their gain?
        {one} finishes {speed * hours = first} {crafts}.
        In an hour {two} finishes {speed - slower = learning}.
        At the end {two} has finished {learning * hours = second} {crafts}.
        Together there are {first + second = made} {crafts}.
        They bring {made * price = income} {money}.
        The gain of {one} and {two} is {income - wage = left} {money}.
        """,
    ),
    Template(
        "parcel_vans",
        "who NAMES, one TOWNS, two TOWNS, vans 2-12, each 10-50, wrong 3-25, first 30-150, all = vans * each, sorted = all + wrong, "
        "second = sorted - first",
        """
        In the depot of {who} lie {first} parcels for {one} and {second} for {two}. {wrong} of them have a wrong address and are sent back.
        The others are loaded into {vans} vans, the same number into each. How many parcels does a van carry?
        For {one} and {two} there are {first + second = sorted} parcels in the depot.
        {who} loads {sorted - wrong = all} of them, the ones with a right address.
        Divided among {vans} vans, that makes {all / vans = each} parcels for each van of {who}.
        """,
        """
        {who} sends {vans} vans on the road with equally many parcels in each. {second} parcels for {two} and {first} for {one} have come
        in, but {wrong} are too wet to be delivered. How many parcels does {who} put into each van?
        The depot of {who} has received {second + first = sorted} parcels for {two} and {one}.
        Of these {sorted - wrong = all} are dry.
        Into each van {who} puts {all / vans = each} parcels.
        """,
    ),
    Template(
        "bead_necklaces",
        "who NAMES, relative RELATIVES, money MONEY, beads 6-12, chains 4-20, lost 2-20, some 20-90, price 3-12, used = beads * chains, "
        "all = used + lost, more = all - some",
        """
        {who} has {some} glass beads and {more} wooden beads, but the {relative} spills {lost} of them. A necklace takes {beads} beads, and
        {who} sells it for {price} {money}. How many {money} can {who} get with all the beads that are left?
        At first {who} has {some + more = all} beads.
        The {relative} leaves {all - lost = used} beads.
        From these {who} makes {used / beads = chains} necklaces.
        For the necklaces {who} can get {chains * price = income} {money}.
        """,
        """
        Making a necklace, {who} strings {beads} beads. There are {more} red beads and {some} blue ones in a bowl, of which the {relative}
        takes {lost}. When all the others are strung, the necklaces are sold at {price} {money} each. What do they bring?
        In the bowl of {who} there are {more + some = all} beads.
        After the {relative} has taken some, there are {all - lost = used}.
        They are strung to {used / beads = chains} necklaces.
        The necklaces bring {chains * price = income} {money} to {who}.
        """,
    ),
    Template(
        "pottery_kiln",
        "who NAMES, club CLUBS, money MONEY, shelves 2-6, each 4-12, times 2-6, cracked 3-25, price 2-5",
        """
        The kiln of {who} has {shelves} shelves, and {each} bowls fit on a shelf. The {club} fires it {times} times, always full; {cracked}
        bowls crack. The good ones are sold for {price} {money} each. How many {money} does the {club} take?
        The full kiln holds {shelves * each = full} bowls.
        The {club} fires {full * times = fired} bowls in it.
        Of these {fired - cracked = good} bowls are good.
        For the bowls from the kiln of {who} the {club} takes {good * price = income} {money}.
        """,
        """
        {who} shows the {club} how to make plates. They fill a kiln {times} times, each time with {each} plates on every one of {shelves}
        shelves. At a price of {price} {money} all the plates are sold except {cracked} that have cracked. How many {money} is that?
        In {times} rounds the {club} fills {times * shelves = count} shelves.
        On them {who} counts {count * each = fired} plates.
        Without the cracked ones {fired - cracked = good} plates are sold.
        That is {good * price = income} {money} for {who} and the {club}.
        """,
    ),
    Template(
        "printed_leaflets",
        "who NAMES, town TOWNS, day DAYS, speed 20-90, minutes 3-9, spoiled 5-60, streets 3-12, each 10-50",
        """
        On {day} {who} prints leaflets about a fair in {town}, {speed} a minute for {minutes} minutes, and {spoiled} of them are spoiled.
        Then {who} brings {each} leaflets to each of {streets} streets. How many good leaflets are left?
        The machine of {who} prints {speed * minutes = printed} leaflets on {day}.
        Of these {printed - spoiled = good} are good.
        The streets of {town} get {streets * each = given} leaflets.
        {who} has {good - given = left} good leaflets left.
        """,
        """
        {streets} streets in {town} get {each} posters each from {who}. They come out of a machine that prints {speed} posters a minute and
        ran for {minutes} minutes on {day}. {spoiled} posters came out crooked. How many straight ones does {who} still have?
        In {town} {who} needs {streets * each = given} posters.
        On {day} the machine has printed {minutes * speed = printed} posters.
        With the crooked ones, {given + spoiled = gone} posters are gone.
        {who} still has {printed - gone = left} straight posters.
        """,
    ),
    Template(
        "rope_pieces",
        "who NAMES, peak PEAKS, worn 10-60, piece 3-9, pieces 10-60, some 30-99, good = piece * pieces, all = good + worn, "
        "more = all - some",
        """
        For a bridge at {peak} {who} unrolls a rope of {some} meters and another of {more} meters. {worn} meters of them are worn and cut
        away. The rest is cut into pieces of {piece} meters. How many pieces does {who} get?
        The two ropes of {who} are {some + more = all} meters long.
        Without the worn parts there are {all - worn = good} meters.
        For the bridge at {peak} {who} gets {good / piece = pieces} pieces.
        """,
        """
        {who} cuts ladders for the climbers at {peak} from two ropes, {more} and {some} meters long. {worn} meters are left over after
        cutting, and each ladder takes {piece} meters of rope. How many ladders have been cut?
        Both ropes together measure {more + some = all} meters.
        {who} has used {all - worn = good} meters of them.
        So {who} has cut {good / piece = pieces} ladders for {peak}.
        """,
    ),
    Template(
        "two_shifts",
        "one NAMES, two NAMES, things FURNITURE, workers 3-12, each 4-15, night 2-10, slow 2-9, sold 20-150",
        """
        In the day shift of {one}, {workers} workers make {each} {things} each. In the night shift of {two}, {night} workers make {slow}
        {things} each. In the morning a truck takes {sold} {things} away. How many {things} are left in the hall?
        The day shift of {one} makes {workers * each = day} {things}.
        The night shift of {two} makes {night * slow = dark} {things}.
        Both shifts together make {day + dark = made} {things}.
        When the truck has gone, {made - sold = left} {things} are left.
        """,
        """
        {two} works at night with a crew of {night}, each making {slow} {things}; {one} works by day with a crew of {workers}, each making
        {each}. {sold} {things} have been ordered. How many more than that do both crews make?
        The crew of {two} makes {night * slow = dark} {things}.
        The crew of {one} makes {workers * each = day} {things}.
        By day and by night {dark + day = made} {things} are made.
        That is {made - sold = left} {things} more than ordered from {one} and {two}.
        """,
    ),
    Template(
        "part_boxes",
        "who NAMES, parts PARTS, boxes CONTAINERS, town TOWNS, number 3-12, inside 10-40, engines 3-12, each 3-12, lost 2-20",
        """
        {who} has {number} {boxes} with {inside} {parts} in each and builds {engines} engines for the tramway of {town}. An engine takes
        {each} {parts}, and {lost} {parts} are lost on the floor. How many {parts} are left?
        In the {boxes} {who} has {number * inside = all} {parts}.
        The engines for {town} take {engines * each = built} {parts}.
        With those on the floor {built + lost = gone} {parts} are gone.
        {who} has {all - gone = left} {parts} left.
        """,
        """
        To repair a pump in {town}, {who} uses {each} {parts}. There are {engines} pumps to repair. The store has {number} {boxes} of
        {parts}, with {inside} in each, of which {lost} turn out to be rusty. How many good {parts} will {who} have in the end?
        The {boxes} in the store hold {number * inside = all} {parts}.
        Since some are rusty, {who} has {all - lost = good} good ones.
        The pumps in {town} take {engines * each = built} {parts}.
        In the end {who} will have {good - built = left} good {parts}.
        """,
    ),
]
