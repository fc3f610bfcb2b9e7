"""Arithmetic and word problems with numbers to draw; more come from the demo's word problems, {problem}."""

from domino_jax.train.tasks.grammar import lines, words

TEMPLATES = lines("""
{problem}[ {SHOW}|]
{problem} {SHOW}
Question: {problem}¶Answer:
{problem}¶{SHOW}
Solve this problem: {problem}[| Check the result.]
{HELLO} my homework says: "{problem}" {SHOW}
What is {12-999} [+|plus|-|minus] {12-999}?
Calculate {12-99} [*|times|x] {12-99}.[ {SHOW}|]
What is {100-9999} divided by {3-25}? [Round to two decimal places.|Give quotient and remainder.|As a fraction, too.]
Compute ({3-40} + {3-40}) * {2-15} - {10-99}.[ {SHOW}|]
Evaluate {2-20} + {2-20} * {2-12} - {2-30} / {2-5}. [Mind the order of operations.|{SHOW}]
What is {3-95} percent of {40-900/10}?
{20-400/5} is what percent of {500-2000/20}?
{THINGS} cost {20-400/5} dollars and are reduced by {5-60/5} percent. What do they cost now?[ {SHOW}|]
A price rises from {20-90} to {95-180} dollars. By how many percent is that?[ {SHOW}|]
{NAME} puts {500-9000/100} dollars into an account at {2-8} percent a year. How much is there after {2-6} years with compound interest?[ \
{SHOW}|]
A train leaves at {6-11}:{10-50/5} and takes {2-7} hours and {15-55/5} minutes. When does it arrive?
{NAME} drives {60-400/10} kilometers in {2-6} hours. What is the average speed?[ {SHOW}|]
Two cyclists start {30-150/5} kilometers apart and ride towards each other at {12-20} and {21-32} kilometers an hour. When do they meet?[ \
{SHOW}|]
{who=NAME} is {5-20} years older than {b=NAME}. Together they are {40-99} years old. How old is {who}?[ {SHOW}|]
In {3-9} years {who=NAME} will be twice as old as {b=NAME}, who is {6-14} now. How old is {who} today?[ {SHOW}|]
Solve for x: {2-12}x [+|-] {3-60} = {20-150}.[ {SHOW}|]
Solve the equation {2-9}(x - {2-12}) = {3-60/3}.
Solve x^2 - {3-15}x + {2-40} = 0. {SHOW}
Solve the system: x + y = {20-80}, x - y = {2-18/2}.
Find the sum of [all even|all odd|all] numbers from {1-20} to {40-200/10}.
What comes next: {SEQUENCE}? Explain the rule.
Find the greatest common divisor of {24-240/12} and {36-360/12}.[ {SHOW}|]
What is the least common multiple of {4-30} and {6-36}?
Is {101-999} a prime number? {SHOW}
Write {60-990} as a product of primes.
Convert {2-500} [miles to kilometers|pounds to kilograms|degrees Fahrenheit to Celsius|inches to centimeters|gallons to liters].
Convert {2-90} hours into [minutes|seconds|days and hours].
How many [seconds|minutes] are there in {2-40} [days|weeks|hours]?
Convert the number {20-255} to [binary|hexadecimal|base 3].[ {SHOW}|]
A rectangle is {3-40} cm long and {2-30} cm wide. Find its area and perimeter.[ {SHOW}|]
What is the volume of a [cylinder|cone] with radius {2-15} cm and height {4-40} cm?
A triangle has a base of {4-40} m and a height of {3-30} m. What is its area?
The legs of a right triangle are {3-20} cm and {4-25} cm. How long is the hypotenuse? {SHOW}
A garden of {6-40} by {5-30} meters gets a path of {2-3} meters all around. What is the area of the path?[ {SHOW}|]
A circle has a [radius|diameter] of {2-40} cm. Find its circumference and area.
Find the mean, median and range of {4-30}, {4-30}, {4-30}, {4-30} and {4-30}.
{NAME} scored {55-98}, {55-98} and {55-98} points in three tests. What is needed in the fourth for an average of {80-90}?[ {SHOW}|]
What is the probability of rolling [a sum of {4-11}|two sixes|at least one six|two different numbers] with two dice? {SHOW}
A bag holds {3-12} red, {2-10} blue and {2-9} green marbles. What is the probability of drawing a [red|blue|green] one[?|, and then \
another of the same color?]
In how many ways can {3-8} people sit [in a row|around a table]?
How many different teams of {2-4} can be formed from {5-12} people?
Add {1-5}/{6-9} and {1-7}/{8-12}.[ {SHOW}|]
Simplify the fraction {12-96/12}/{18-120/6}.
Put these in order, smallest first: {1-4}/{5-9}, 0.{11-89}, {15-85/5}%, {1-5}/{6-8}.
A recipe for {2-4} people needs {150-600/50} grams of flour. How much is needed for {5-12} people?[ {SHOW}|]
{4-12} workers need {6-30} days for a wall. How long would {3-15} workers need?[ {SHOW}|]
One pipe fills a tank in {3-9} hours, another one in {4-12} hours. How long do both need together?[ {SHOW}|]
{NAME} has {5-30} coins, all of them dimes and quarters, worth {150-400/5} cents. How many of each? If it cannot be, say so.[ {SHOW}|]
A shop sells {12-60} {THING_PLAIN} on {DAY} and {2-4} times as many on {DAY}. Each costs {2-19} dollars. How much does it take in on both \
days?[ {SHOW}|]
{who=NAME} reads {8-40} pages a day. How many days does {who} need for a book of {150-600/10} pages?[ {SHOW}|]
{who=NAME} earns {12-40} dollars an hour and works {4-9} hours a day, {3-6} days a week. What does {who} earn in {2-8} weeks?[ {SHOW}|]
{who=NAME} saves {5-60/5} dollars a week and wants {a ADJECTIVE} bicycle for {200-900/20} dollars. After how many weeks is there enough \
money?[ {SHOW}|]
A class of {18-34} pupils goes to the zoo. A ticket costs {4-15} dollars, and every {5-10}th is free. What do they pay?[ {SHOW}|]
{NAME} buys {2-9} {THING_PLAIN} at {2-15} dollars and {2-9} {THING_PLAIN} at {2-15} dollars and pays with {200-400/50} dollars. How much \
change is there?[ {SHOW}|]
{who=NAME} had {20-90} {THING_PLAIN}, gave a {FRACTION} of them to {b=NAME} and lost {2-6}. How many are left, rounded down if need be?[ \
{SHOW}|]
Make up a word problem about {THING_PLAIN} with the numbers {3-20} and {21-60}, and solve it.
Write {2-4} word problems for a [second|third|fourth|fifth] grader about {THING_PLAIN}, with solutions.
Estimate {103-998} * {12-98} in your head and explain how.
Is {who=NAME} right? "{12-60} * {5-15} is {200-900}." {SHOW}
Find the error: {12-60} + {13-70} = {90-140}, so half of it is {45-70}.
What is the derivative of {2-9}x^{2-6} [+|-] {2-12}x?
Find the slope of the line through ({1-9}, {1-9}) and ({10-20}, {10-30}).
What is {2-12} to the power of {2-5}?
Find the square root of {20-400}, to two decimal places. {SHOW}
Simplify {2-9}a [+|-] {2-9}b - {2-9}a + {2-9}b.
Expand (x + {2-12})(x - {2-12}).
Factor x^2 + {3-19}x + {2-60}, if possible.
""")
SHOW = words(
    """Show your work.; Think step by step.; Explain each step.; Show all steps and state the answer at the end.; Write the result on a
    line of its own.; Just the answer, please.; Give the result and a short explanation.; Reason step by step and put the final answer
    in \\boxed{}.; How do you get there?; End with "The answer is" and the number.; Solve it, and then check the answer.; Explain it so
    that a child can follow."""
)
THINGS = words(
    """Two shirts; Four chairs; Three shirts; Two winter coats; Two tickets; Four tires; Six pans; The curtains; Hiking boots; New \
    glasses"""
)
SEQUENCE = words(
    """5, 11, 17, 23; 7, 14, 21, 28; 2, 4, 8, 16, 32; 3, 6, 12, 24; 1, 1, 2, 3, 5, 8; 1, 4, 9, 16, 25; 4, 9, 14, 19; 1, 2, 4, 7, 11; 100,
    93, 86, 79; 1, 8, 27, 64; 1, 3, 6, 10, 15; 81, 27, 9, 3; 2, 3, 5, 7, 11"""
)
THING_PLAIN = words(
    """apples; pencils; stickers; marbles; candles; roses; books; shells; balloons; muffins; buttons; postcards; melons; batteries; cups;
    plants; eggs; socks; lanterns; coins; puzzles; basketballs; stamps; crayons"""
)
FRACTION = words("third; quarter; half; fifth")
