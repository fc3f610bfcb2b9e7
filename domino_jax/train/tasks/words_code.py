"""What programs are asked for: functions by signature, programs, classes, tables, commands, snippets."""

from domino_jax.train.tasks.grammar import lines, words

FUNCTION = words(
    """second_largest(numbers): returns the second largest number of a list; count_vowels(text): counts the vowels of a text;
    is_palindrome(text): checks whether a text reads the same backwards, ignoring case and spaces; merge_sorted(a, b): merges two sorted
    lists into one sorted list; flatten(nested): flattens a list of lists of any depth; chunks(items, size): splits a list into pieces
    of the given size; word_counts(text): returns how often each word occurs; most_common(items): returns the element that occurs most
    often; remove_duplicates(items): removes duplicates and keeps the order; rotate(items, k): rotates a list by k places to the right;
    is_prime(n): tells whether a number is prime; primes_up_to(n): returns all prime numbers up to n with a sieve; prime_factors(n):
    returns the prime factors of a number; gcd(a, b): computes the greatest common divisor; fibonacci(n): returns the first n Fibonacci
    numbers; factorial(n): computes the factorial without recursion; power(base, exponent): computes a power by repeated squaring;
    digit_sum(n): adds up the decimal digits of a number; reverse_digits(n): reverses the digits of an integer and keeps its sign;
    to_roman(n): turns a number from 1 to 3999 into a Roman numeral; from_roman(text): turns a Roman numeral into a number;
    to_binary(n): writes a number in binary without using bin; hex_to_rgb(color): turns a color such as #ff8800 into three numbers;
    celsius_to_fahrenheit(values): converts a list of temperatures; is_leap_year(year): tells whether a year is a leap year;
    days_between(first, last): returns the number of days between two dates; next_weekday(date, weekday): returns the next date that
    falls on a weekday; format_duration(seconds): formats seconds as hours, minutes and seconds; parse_time(text): turns a time such as
    7:45 pm into minutes since midnight; caesar(text, shift): shifts every letter by some places in the alphabet; run_length(text):
    encodes a text as characters and counts; decode_run_length(text): undoes a run-length encoding; is_anagram(a, b): checks whether two
    words are anagrams; group_anagrams(words): groups words that are anagrams of each other; longest_word(text): returns the longest
    word of a sentence; longest_common_prefix(words): finds the longest prefix that all words share; longest_increasing(numbers):
    returns the longest increasing subsequence; edit_distance(a, b): computes the Levenshtein distance of two words; title_case(text):
    capitalizes every word except short ones such as of and the; snake_to_camel(name): turns snake_case into camelCase; slugify(title):
    turns a title into a part of a URL; wrap(text, width): breaks a text into lines that are not wider than width; truncate(text,
    limit): shortens a text at a word boundary and adds dots; strip_tags(html): removes all tags from an HTML text;
    extract_emails(text): returns all e-mail addresses in a text; valid_password(text): checks length, digits and capital letters of a
    password; valid_isbn(code): checks the last digit of an ISBN-13; luhn(number): checks a card number with the Luhn algorithm;
    binary_search(items, target): returns the position of a value in a sorted list, or -1; bubble_sort(items): sorts a list in place and
    stops early when nothing moves; quicksort(items): sorts a list recursively; insertion_sort(items): sorts a list by insertion;
    merge_intervals(intervals): merges overlapping intervals; two_sum(numbers, target): finds two numbers that add up to a target;
    max_subarray(numbers): returns the largest sum of neighboring elements; moving_average(values, window): returns the averages of a
    sliding window; running_total(values): returns the sums of all prefixes; median(values): computes the median without the statistics
    module; standard_deviation(values): computes the sample standard deviation; normalize(values): scales values to the range from 0 to
    1; histogram(values, bins): counts values in equal intervals; transpose(matrix): exchanges rows and columns of a matrix; multiply(a,
    b): multiplies two matrices given as lists of lists; spiral(matrix): returns the elements of a matrix in spiral order;
    rotate_image(matrix): turns a square matrix by ninety degrees; is_sudoku_valid(board): checks a partly filled Sudoku board;
    neighbors(grid, row, column): returns the cells around a cell of a grid; life_step(grid): computes the next generation of the Game
    of Life; shortest_path(maze): finds the length of the shortest way through a maze; bfs(graph, start): visits a graph breadth first
    and returns the order; has_cycle(graph): tells whether a directed graph has a cycle; topological_order(graph): orders the nodes of a
    graph so that edges go forward; tree_depth(node): returns the depth of a binary tree; is_balanced(text): checks whether brackets are
    balanced; evaluate(expression): evaluates an arithmetic expression with brackets; reverse_words(text): reverses the order of words
    in a sentence; interleave(a, b): takes elements of two lists in turn; partition(items, test): splits a list by a condition into two;
    zip_dicts(keys, values): builds a dictionary and handles lists of different lengths; invert(mapping): swaps keys and values and
    collects duplicates in lists; deep_merge(a, b): merges two nested dictionaries; get_path(data, path): reads a value from nested
    dictionaries by a dotted path; sort_by_key(rows, key): sorts a list of dictionaries and puts missing keys last; group_by(rows, key):
    groups dictionaries by the value of a key; read_csv(path): reads a CSV file into a list of dictionaries; count_lines(folder): counts
    the lines of all Python files below a folder; tail(path, n): returns the last n lines of a file without reading all of it;
    find_duplicates(folder): finds files with the same content; rename_all(folder, old, new): replaces a part of all file names in a
    folder; parse_log(line): splits a log line into date, level and message; retry(function, times): calls a function again when it
    raises an error; memoize(function): remembers the results of a function; timed(function): wraps a function so that it prints how
    long it took; flip_coin(n): simulates n coin flips and returns the share of heads; shuffle(items): shuffles a list in place without
    the random.shuffle function; weighted_choice(items, weights): draws one item with the given weights; change(amount, coins): returns
    the fewest coins that make up an amount; knapsack(weights, values, capacity): solves the 0/1 knapsack problem; permutations(items):
    yields all orders of a list without itertools; subsets(items): returns all subsets of a list; pascal(n): returns the first n rows of
    Pascal's triangle; collatz(n): returns the Collatz sequence that starts at n; perfect_numbers(limit): finds all perfect numbers
    below a limit; is_armstrong(n): tells whether a number is an Armstrong number; look_and_say(n): returns the n-th element of the
    look-and-say sequence; compound_interest(amount, rate, years): computes the balance after some years; loan_payment(amount, rate,
    months): computes the monthly payment of a loan; bmi(weight, height): computes the body mass index and names its category;
    distance(a, b): computes the distance of two points in the plane; polygon_area(points): computes the area of a polygon from its
    corners; point_in_circle(point, center, radius): tells whether a point lies in a circle; morse(text): translates a text into Morse
    code; pig_latin(text): translates an English sentence into Pig Latin; hangman_mask(word, guessed): shows the guessed letters of a
    word and hides the others; tic_tac_toe_winner(board): returns the winner of a tic-tac-toe board, or None; score_bowling(rolls):
    computes the score of a bowling game; poker_hand(cards): names the best category of a poker hand; grade(points): turns points from 0
    to 100 into a letter"""
)
CODING_LANGUAGE = words("JavaScript; TypeScript; Java; C; C++; C#; Go; Rust; Ruby; Kotlin; Swift; PHP; R; Julia; Haskell; Lua; Scala; Perl")
PROGRAM = words(
    """a to-do list for the command line; a number guessing game; a tip calculator; a unit converter; a password generator; a word counter
    for text files; a countdown timer; a quiz with {3-9} questions; a hangman game; a tic-tac-toe game for two players; a simple bank
    account simulation; a contact book that is stored in JSON; a currency converter with fixed rates; a text adventure with {3-6} rooms;
    a dice simulator; a Markdown to HTML converter; a web server that says hello; a chat server; a URL shortener; a weather report from
    a CSV file; a log file analyzer; a file organizer that sorts by extension; a duplicate finder for photos; a stopwatch; a bar chart
    in the terminal; a random quote generator; a typing test; a rock, paper, scissors game; a snake game; a calculator with a window; a
    flashcard trainer; an expense tracker; a habit tracker; a bookmark manager; a small search engine for text files; a maze generator;
    a Sudoku solver; a Mandelbrot picture; a web scraper for headlines; a REST API for a library; a program that mails a daily summary;
    a backup script; a birthday reminder; a recipe scaler; a grade book; a train timetable lookup; an inventory of a small shop; a poll
    with results in percent; an alarm clock; a Morse code translator; a pomodoro timer"""
)
CLASS = words(
    """a stack; a queue with two stacks; a linked list; a doubly linked list; a binary search tree; a min-heap; a graph; a matrix; a
    fraction; a complex number; a deck of cards; a bank account; a shopping cart; a library with books and members; a parking lot; an
    elevator; a vending machine; a temperature sensor; a traffic light; a playlist; a chess board; a polynomial; a vector in 3D; a date
    range; an LRU cache; a rate limiter; a priority queue; a trie; a bounded counter; a set of integers as bits; an event emitter; a
    simple logger; a countdown; a bloom filter; a student with grades; an employee and a manager; shapes with areas; a state machine; a
    thread-safe queue; a sparse matrix; a text buffer"""
)
REQUIREMENT = words(
    """Use type hints.; Add a docstring with an example.; Handle empty input.; Do not use any libraries.; Raise a ValueError for bad
    input.; Include {2-5} tests.; Explain how it works.; What is its time complexity?; Keep it under {10-40/5} lines.; Write clean,
    readable code.; Comment every step.; Use recursion.; Do not use recursion.; Use a generator where it makes sense.; Show how it is
    called.; Only code, no explanation.; Make it as fast as possible.; Think of edge cases.; Give two versions, a simple one and an
    efficient one.; It should work for very large inputs."""
)
TABLE = words(
    """customers(id, name, city, joined) and orders(id, customer_id, total, placed_on); books(id, title, author_id, year, price) and
    authors(id, name, country); employees(id, name, department, salary, hired) and departments(id, name, budget); students(id, name,
    grade) and results(student_id, subject, points); flights(id, origin, destination, departs, seats) and bookings(id, flight_id,
    passenger); products(id, name, category, price, stock) and sales(product_id, quantity, sold_on); songs(id, title, artist, seconds,
    year) and plays(song_id, user_id, played_at); rooms(id, hotel_id, beds, price) and stays(room_id, guest, first_night, nights);
    players(id, name, team) and goals(player_id, match_id, minute); patients(id, name, born) and visits(patient_id, doctor, visited_on,
    cost)"""
)
QUERY = words(
    """shows the {3-20} rows with the highest numbers; counts the rows of the second table for each row of the first; finds rows of the
    first table that never appear in the second; lists everything from {MONTH} {2015-2024}; returns the average and the maximum by
    group; finds names that occur more than {2-5} times; ranks the entries with a window function; computes a running total by date;
    deletes entries that are older than {2-9} years; adds a column and fills it with a default value; joins both tables and sorts by
    name; returns the top {2-5} of every group; finds the month with the largest total; updates all numbers by {2-15} percent; creates
    both tables with keys and constraints; makes a view for a weekly report"""
)
SHELL = words(
    """find all files larger than {10-900/10} MB; count the lines of all [py|txt|csv|log] files in a directory tree; rename all .jpeg files
    to .jpg; show the {5-30/5} largest directories; replace a word in all files of a folder; delete files that have not been changed for
    {10-90/5} days; list the processes that use most memory; show which process listens on port {3000-9000/10}; copy a directory to
    another machine; compress a folder and put the date into the name of the archive; print the {2-9}th column of a file; sort a CSV
    file by its [second|third|fourth] column; find duplicate lines in a text file; watch a log file and show only lines with errors;
    download a list of URLs from a file; make a script executable and run it every [night|Monday|hour]; show the differences between two
    folders; split a file into pieces of {100-5000/100} lines; undo the last Git commit but keep the changes; find the commit that
    deleted a file; squash the last {2-6} commits; show free disk space in a readable form; extract all IP addresses from a log; count
    how often each word occurs in a file"""
)
REGEX = words(
    """a date such as 2024-03-17; an e-mail address; a phone number with an optional country code; a hexadecimal color; a time in 24-hour
    format; an integer with optional thousands separators; a word that starts and ends with the same letter; a line that is empty or a
    comment; an IPv4 address; a price in dollars or euros; text between double quotes; a license plate such as AB-123-CD; a floating
    point number with an optional exponent; a file name that ends in .csv or .tsv; repeated words such as the the; a Markdown link"""
)
MARKUP = words(
    """an HTML page for a [bakery|school|photographer|museum|rowing club] with a menu and a contact form; an HTML table of {3-8}
    {CITY_PRICE}; a CSS rule that centers a box on the page; a CSS grid with {2-5} columns that becomes one column on a phone; an HTML
    form for {a JOB} who registers for a course; a JSON document that describes {THING}; a JSON schema for [an order|a book|an address|a
    user|a song]; a YAML file that configures a web server with {2-6} settings; a Dockerfile for a small Python web app; a Makefile with
    the targets build, test and clean; a README for {PROGRAM}; an SVG of [a house|a smiling face|a traffic light|a sailing boat]; a
    crontab line for {7-22}:{10-50/10} every {DAY}; a GitHub workflow that runs the tests on every push; a docstring for a function that
    {SIMPLE_TASK}; unit tests for a function that {SIMPLE_TASK}; pseudocode for a program that {SIMPLE_TASK}"""
)
CITY_PRICE = words(
    """cities and their population; fruits and their prices; trains and their times; books and their authors; teams and points"""
)
SIMPLE_TASK = words(
    """finds the shortest way between two towns; rounds prices to five cents; counts how often a word occurs; checks whether a year is a
    leap year; sorts students by grade and then by name; converts temperatures; splits a bill among {3-8} friends; removes punctuation
    from a text; draws a random card; adds two fractions; finds the median of a list; reads numbers until an empty line comes"""
)
SNIPPET = lines("""
def total(prices):¶    result = 0¶    for price in prices:¶        result += price¶    return result
squares = [x * x for x in range({5-30}) if x % {2-5} == 0]
def f(n):¶    return 1 if n <= 1 else n * f(n - 1)
counts = {}¶for word in text.split():¶    counts[word] = counts.get(word, 0) + 1
with open("data.txt") as file:¶    longest = max(file, key=len)
def swap(items, i, j):¶    items[i], items[j] = items[j], items[i]
evens = list(filter(lambda x: x % {2-9} == 0, numbers))
def g(a, b):¶    while b:¶        a, b = b, a % b¶    return a
names = sorted(people, key=lambda p: (p["age"], p["name"]))
def countdown(n):¶    while n > 0:¶        yield n¶        n -= {1-3}
result = " ".join(word[::-1] for word in sentence.split(" "))
def find(items, x):¶    low, high = 0, len(items)¶    while low < high:¶        mid = (low + high) // 2¶        if items[mid] < x:¶        \
    low = mid + 1¶        else:¶            high = mid¶    return low
import random¶hits = sum(random.random() ** 2 + random.random() ** 2 < 1 for _ in range({1000-9000/1000}))¶print(4 * hits / \
{1000-9000/1000})
try:¶    value = int(input("Number: "))¶except ValueError:¶    value = {0-9}
matrix = [[0] * {3-9} for _ in range({3-9})]¶for i in range(len(matrix)):¶    matrix[i][i] = 1
class Counter:¶    def __init__(self):¶        self.n = {0-9}¶¶    def tick(self):¶        self.n += {1-5}¶        return self
""")
BUG = lines("""
def average(values):¶    total = 0¶    for v in values:¶        total = v¶    return total / len(values)
def is_even(n):¶    return n % 2 == 1
def last(items):¶    return items[len(items)]
for i in range(1, {5-20}):¶    if i % 3 = 0:¶        print(i)
def add_item(item, items=[]):¶    items.append(item)¶    return items
def count_up(n):¶    i = 0¶    while i < n:¶        print(i)
def largest(numbers):¶    best = 0¶    for n in numbers:¶        if n > best:¶            best = n¶    return best
numbers = [3, 8, 12, 5]¶for n in numbers:¶    if n > {4-9}:¶        numbers.remove(n)
def greet(name):¶    print("Hello " + name)¶¶message = greet("{NAME}")¶print(message.upper())
age = input("Age: ")¶if age > {12-65}:¶    print("You may come in")
def factorial(n):¶    return n * factorial(n - 1)
text = "hello"¶text[0] = "J"¶print(text)
def area(radius):¶    return 3.14 * radius * 2
prices = {"tea": {2-9}, "cake": {2-9}}¶print(prices["coffee"])
def unique(items):¶    seen = []¶    for item in items:¶        if item in seen:¶            seen.append(item)¶    return seen
def first_word(text):¶return text.split()[0]
total = 0¶for i in range({10-90/10}):¶    total += i¶    print("Sum of 1 to {10-90/10}:", total)
import math¶print(sqrt({4-99}))
def price_with_tax(price):¶    tax = price * {5-25}¶    return price + tax
""")
TRACE = words(
    """IndexError: list index out of range; KeyError: 'name'; TypeError: unsupported operand type(s) for +: 'int' and 'str'; NameError:
    name 'x' is not defined; ZeroDivisionError: division by zero; ValueError: invalid literal for int() with base 10: '';
    IndentationError: expected an indented block; ModuleNotFoundError: No module named 'requests'; AttributeError: 'NoneType' object has
    no attribute 'split'; RecursionError: maximum recursion depth exceeded; FileNotFoundError: No such file or directory: 'data.csv';
    UnboundLocalError: cannot access local variable 'total'; SyntaxError: invalid syntax; UnicodeDecodeError: 'utf-8' codec can't decode
    byte 0xe9; StopIteration; PermissionError: Permission denied"""
)
