"""Word problems about trains, boats, roads and trips."""

from domino_jax.demo.template import Template

TEMPLATES = [
    Template(
        "train_stops",
        "who NAMES, one VILLAGES, two VILLAGES, cars 3-9, each 10-40, off 5-60, on 5-50, last 5-60",
        """
        {who} is the conductor of a train with {cars} cars, and {each} passengers sit in each. In {one} {off} passengers get off and {on}
        get on. In {two} {last} more get off. How many passengers does {who} have on board after {two}?
        At first {who} has {cars * each = start} passengers on board.
        When {off} have got off in {one}, {start - off = fewer} are on the train.
        With the new ones there are {fewer + on = then} passengers.
        After {two} {who} has {then - last = left} passengers on board.
        """,
        """
        Before {one} every one of the {cars} cars of a train carries {each} people. {on} people get in there, {off} leave, and in {two}
        {last} people leave as well. How many people are still there when {who}, the conductor, comes by?
        Before {one} the train carries {cars * each = start} people.
        In {one} and {two} {off + last = gone} people leave.
        With those who get in, {start + on = most} people have been on the train.
        When {who} comes by, {most - gone = left} people are still there.
        """,
    ),
    Template(
        "cycling_tour",
        "who NAMES, one VILLAGES, two VILLAGES, days 3-9, daily 20-70, rainy 2-4, slow 10-40, way 150-700",
        """
        From {one} to {two} it is {way} kilometers on small roads. {who} cycles {daily} kilometers a day on {days} sunny days and {slow}
        kilometers a day on {rainy} rainy days. How many kilometers are left to {two}?
        On sunny days {who} cycles {days * daily = sunny} kilometers.
        On rainy days {who} cycles {rainy * slow = wet} kilometers.
        Since {one} that is {sunny + wet = done} kilometers.
        To {two} {way - done = left} kilometers are left for {who}.
        """,
        """
        {who} left {one} on a bicycle and wants to go to {two}, {way} kilometers away. It rained on {rainy} days, with {slow} kilometers
        done on each; on the {days} other days {who} did {daily}. How far is {two} now, in kilometers?
        In the rain {who} did {rainy * slow = wet} kilometers.
        After the rain {two} was {way - wet = rest} kilometers away.
        On the other days {who} did {days * daily = sunny} kilometers.
        Coming from {one}, {who} is now {rest - sunny = left} kilometers away from {two}.
        """,
    ),
    Template(
        "bus_seats",
        "who NAMES, town TOWNS, club CLUBS, buses 2-9, seats 20-60, families 5-25, each 3-6, single 10-90",
        """
        {who} hires {buses} buses with {seats} seats for a trip of the {club} to {town}. {families} families of {each} people come along,
        and {single} people come alone. How many seats stay empty?
        In the buses {who} has {buses * seats = all} seats.
        The families of the {club} take {families * each = some} seats.
        With those who come alone, {some + single = taken} seats are taken.
        On the way to {town} {all - taken = left} seats stay empty.
        """,
        """
        {single} members of the {club} travel to {town} alone, and {families} families of {each} people travel too. There are {seats} seats
        in each of the {buses} buses that {who} drives up with the other drivers. How many more people could come?
        In {families} families there are {families * each = some} people.
        {who} and the other drivers have {buses * seats = all} seats for the {club}.
        When the families sit, {all - some = free} seats are free.
        So {free - single = left} more people could come to {town}.
        """,
    ),
    Template(
        "ferry_deck",
        "who NAMES, one PORTS, two PORTS, money MONEY, trucks 2-12, cars 5-40, dear 8-30, cheap 4-12, fuel 50-200",
        """
        On the ferry from {one} to {two} a truck pays {dear} {money} and a car {cheap} {money}. Captain {who} takes {trucks} trucks and
        {cars} cars on board and burns fuel for {fuel} {money}. How many {money} does this trip earn?
        The trucks pay {trucks * dear = big} {money}.
        The cars pay {cars * cheap = small} {money}.
        From {one} to {two} Captain {who} takes in {big + small = income} {money}.
        When the fuel is paid, the trip has earned {income - fuel = left} {money}.
        """,
        """
        Captain {who} sails from {one} to {two} with {cars} cars at {cheap} {money} and {trucks} trucks at {dear} {money} each. The fuel
        tank is filled for {fuel} {money} of that. How much of what the drivers have paid is left?
        Captain {who} gets {cars * cheap = small} {money} for the cars.
        Captain {who} gets {trucks * dear = big} {money} for the trucks.
        The drivers have paid {small + big = income} {money} to go to {two}.
        Of this {income - fuel = left} {money} are left after leaving {one}.
        """,
    ),
    Template(
        "mountain_hike",
        "who NAMES, relative RELATIVES, peak PEAKS, hours 2-7, climb 60-99, rest 20-90, last 3-8, steep 30-60",
        """
        {who} climbs {peak} with {who}'s {relative}. For {hours} hours they gain {climb} meters an hour, then they go down {rest} meters to
        a spring, and after that they gain {steep} meters an hour for {last} hours. How many meters above the start are they?
        In the first {hours} hours {who} gains {hours * climb = first} meters.
        At the spring {who} is {first - rest = spring} meters above the start.
        From there {who} and the {relative} gain {last * steep = second} meters.
        On {peak} they are {spring + second = height} meters above the start.
        """,
        """
        The path up {peak} rises {climb} meters an hour for {hours} hours, falls {rest} meters to a hut, and rises {steep} meters an hour
        for {last} hours more. How much higher are {who} and {who}'s {relative} at its end than at its beginning, in meters?
        Up to the top of the first part {who} rises {climb * hours = first} meters.
        In the last part {who} and the {relative} rise {steep * last = second} meters.
        On {peak} they rise {first + second = up} meters in all.
        Without the fall to the hut that makes {up - rest = height} meters.
        """,
    ),
    Template(
        "road_trip_fuel",
        "who NAMES, one VILLAGES, two VILLAGES, money MONEY, per 8-12, liters 12-60, there 100-400, price 2-6, food 10-90, "
        "way = per * liters, back = way - there",
        """
        {who} drives {there} kilometers to {one} and then {back} kilometers to {two}. The car goes {per} kilometers on a liter of fuel. A
        liter costs {price} {money}, and the food on the way costs {food} {money}. How many {money} does {who} spend?
        By way of {one} {who} drives {there + back = way} kilometers.
        The car uses {way / per = liters} liters of fuel to get to {two}.
        The fuel costs {who} {liters * price = fuel} {money}.
        With the food {who} spends {fuel + food = spent} {money}.
        """,
        """
        To get to {two}, {who} goes {there} kilometers on a motorway to {one} and {back} kilometers on country roads. Fuel is {price}
        {money} a liter and a liter lasts for {per} kilometers. {who} also pays {food} {money} of tolls. What does the journey cost?
        The motorway to {one} and the country roads make {there + back = way} kilometers.
        For this {who} needs {way / per = liters} liters.
        They cost {liters * price = fuel} {money}.
        With the tolls the journey of {who} to {two} costs {fuel + food = spent} {money}.
        """,
    ),
    Template(
        "luggage_weight",
        "who NAMES, town TOWNS, crafts CRAFTS, bags 2-6, limit 12-30, clothes 8-40, pieces 4-20, each 2-4",
        """
        For the flight to {town} {who} may take {bags} bags of {limit} kilograms. The clothes weigh {clothes} kilograms, and {who} packs
        {pieces} {crafts} of {each} kilograms each. How many kilograms could {who} still pack?
        To {town} {who} may take {bags * limit = all} kilograms.
        The {crafts} weigh {pieces * each = heavy} kilograms.
        With the clothes the bags of {who} weigh {heavy + clothes = packed} kilograms.
        {who} could still pack {all - packed = left} kilograms.
        """,
        """
        {who} brings {pieces} {crafts} to friends in {town}, each weighing {each} kilograms, and clothes weighing {clothes} kilograms. The
        airline allows {limit} kilograms in each of {bags} bags. How much below the limit is {who}, in kilograms?
        The {crafts} for {town} weigh {pieces * each = heavy} kilograms.
        The airline allows {who} {bags * limit = all} kilograms.
        After packing the {crafts} {all - heavy = rest} kilograms are free.
        With the clothes {who} is {rest - clothes = left} kilograms below the limit.
        """,
    ),
    Template(
        "museum_groups",
        "one NAMES, two NAMES, town TOWNS, groups 3-12, each 6-25, grown 20-99, late 5-40, all = groups * each, came = all + late, "
        "children = came - grown",
        """
        The museum in {town} is full today: {grown} adults and {children} children have come, but {late} of them have to go before the tour.
        {one} and {two} divide the others into {groups} equal groups. How many people are in a group?
        Adults and children together, {grown + children = came} people have come to the museum in {town}.
        For the tour {came - late = all} of them are there.
        Into each of the groups {one} and {two} put {all / groups = each} people.
        """,
        """
        {one} and {two} show guests around a castle in {town}. {children} children and {grown} adults have bought tickets, but {late} do not
        appear. The guests are split evenly into {groups} groups. How large is a group?
        {one} and {two} count {children + grown = came} tickets.
        Since some do not appear, {came - late = all} guests are in the castle.
        A group in {town} has {all / groups = each} people.
        """,
    ),
    Template(
        "taxi_fare",
        "one NAMES, two NAMES, town TOWNS, money MONEY, people 3-9, share 5-30, start 3-15, rate 2-6, all = people * share, "
        "riding = all - start, far = riding / rate",
        """
        A taxi in {town} costs {start} {money} to begin with and {rate} {money} for each kilometer. {one} and {two} ride {far} kilometers in
        it; there are {people} people in the taxi, who share the fare evenly. How many {money} does {two} pay?
        For {far} kilometers the taxi in {town} asks {far * rate = riding} {money}.
        With the beginning the fare is {riding + start = all} {money}.
        Like {one} and everybody else, {two} pays {all / people = share} {money}.
        """,
        """
        {one}, {two} and their friends, {people} people in all, split the fare of a taxi ride of {far} kilometers through {town}. The driver
        asks {rate} {money} a kilometer and {start} {money} for the bags. What is the part of {one}?
        The ride through {town} costs {rate * far = riding} {money}.
        The bags bring it to {riding + start = all} {money}.
        {one} and {two} each pay a part of {all / people = share} {money}.
        """,
    ),
    Template(
        "sailing_legs",
        "who NAMES, one PORTS, two PORTS, fast 6-12, first 3-12, slower 2-5, second 3-12, way 100-300",
        """
        {who} sails from {one} to {two}, a voyage of {way} miles. For {first} hours the boat makes {fast} miles an hour. Then the wind
        drops, and for {second} hours it makes {slower} miles an hour less. How many miles remain?
        In the good wind {who} makes {first * fast = good} miles.
        When it drops, the boat makes {fast - slower = speed} miles an hour.
        At this speed {who} makes {second * speed = bad} miles.
        Since {one} the boat has made {good + bad = done} miles.
        To {two} {way - done = left} miles remain.
        """,
        """
        It is {way} miles from {one} to {two} by sea. With {fast} miles an hour {who} has sailed for {first} hours; with a torn sail, at
        {slower} miles an hour less, {who} has sailed for {second} hours. How many miles is {who} away from {two}?
        With a torn sail {who} does {fast - slower = speed} miles an hour.
        In this way {who} has sailed {second * speed = bad} miles.
        Before, in the first hours after {one}, it was {first * fast = good} miles.
        Of the way {way - good = rest} miles were left when the sail tore.
        Now {who} is {rest - bad = left} miles away from {two}.
        """,
    ),
    Template(
        "hotel_nights",
        "who NAMES, town TOWNS, team TEAMS, money MONEY, rooms 2-5, price 15-40, off 3-9, nights 2-5, meals 10-90",
        """
        For the {team} {who} books {rooms} hotel rooms in {town}. A room costs {price} {money} a night, but the hotel takes {off} {money}
        off that. They stay {nights} nights and pay {meals} {money} for meals. How many {money} does {who} pay in all?
        A room for the {team} costs {price - off = rate} {money} a night.
        One night in {town} costs {who} {rooms * rate = night} {money}.
        All the nights cost {nights * night = stay} {money}.
        With meals {who} pays {stay + meals = paid} {money} in all.
        """,
        """
        {who} takes the {team} to {town} for {nights} nights. They need {rooms} rooms, which are {off} {money} cheaper than the {price}
        {money} a night on the sign, and eat for {meals} {money}. What is the hotel bill with the meals?
        Instead of the price on the sign, {who} pays {price - off = rate} {money} for a room.
        For {nights} nights in {town} a room costs {nights * rate = room} {money}.
        The rooms of the {team} cost {rooms * room = stay} {money}.
        With the meals the bill of {who} is {stay + meals = paid} {money}.
        """,
    ),
]
