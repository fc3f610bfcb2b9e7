"""Code: {signature}, {returns} and {name} are of a function, the rest is drawn."""

from domino_jax.train.tasks.grammar import lines, words

TEMPLATES = lines("""
Write a Python function `{signature}` that {returns}.[ {REQUIREMENT}|]
Write a Python function that {returns}. {REQUIREMENT} {REQUIREMENT}
Implement `{signature}` in Python. It {returns}.[ {REQUIREMENT}|]
{ASK} write a function in Python that {returns}? {REQUIREMENT}
Complete this function:¶¶```python¶def {signature}:¶    \"""{^returns}.\"""¶```
```python¶def {signature}:¶    # {returns}¶```¶¶Fill in the body.[ {REQUIREMENT}|]
Solve this task[.| and test your solution.| in Python, please.]¶¶```python¶def {signature}:¶    \"""{^returns}.\"""¶```
Complete the following code.¶¶def {signature}:¶    \"""{^returns}.
How do I write code that {returns}? [In Python, please.|I use {CODING_LANGUAGE}.|{REQUIREMENT}]
Write a function in {CODING_LANGUAGE} that {returns}.[ {REQUIREMENT}|]
Write it in {CODING_LANGUAGE}: a function that {returns}.
Show me the same function in Python and in {CODING_LANGUAGE}: it {returns}.
Write {2-6} unit tests with pytest for `{signature}`, which {returns}.
Write a docstring with examples for `{signature}`, which {returns}.
Describe in words how one writes a function that {returns}. Then write it in Python.
In a job interview I was asked for a function that {returns}. What is a good answer?
What are edge cases of a function that {returns}? [Write tests for them.|List them.]
My function `{name}` {returns}, but it is slow. What could I do? [Show code.|{REQUIREMENT}]
Write two Python functions: one {returns}, the other {returns_b}.
Write a Python program: {PROGRAM}.[ {REQUIREMENT}|]
{ASK} write {PROGRAM} in Python? {REQUIREMENT}
Write {PROGRAM} in {CODING_LANGUAGE}.
How would you structure {PROGRAM}? Name the functions and what each does[.|, then write the code.]
I am a beginner. Help me write {PROGRAM} in Python, step by step.
Write a Python class for {CLASS}.[ {REQUIREMENT}|]
Implement {CLASS} as a class in [Python|{CODING_LANGUAGE}]. {REQUIREMENT}
Design a class for {CLASS} with at most {3-7} methods and show how it is used.
Given the tables {TABLE}, write a SQL query that {QUERY}.
Tables: {TABLE}¶¶Write SQL that {QUERY}[.| and explain it.| and works in SQLite.]
{TABLE}¶¶How do I write a statement that {QUERY}?
How do I {SHELL} on the command line?
Write a shell command to {SHELL}.[ Explain its options.|]
Write a bash script to {SHELL}. It should print what it does.
What is the command to {SHELL}? [I use Linux.|I use a Mac.|On Windows, please.]
Write a Python script to {SHELL_PY}.
Write a regular expression for {REGEX}.[ Explain each part.| Give examples that match and that do not.|]
Write Python code that uses a regular expression to find {REGEX} in a text.
Write {MARKUP}.
{ASK} write {MARKUP}? {LENGTH}
Explain what this code does:¶¶```python¶{SNIPPET}¶```[¶¶{LENGTH}|]
What is the output of this code?¶¶```python¶{SNIPPET}¶```
Rewrite this in {CODING_LANGUAGE}:¶¶```python¶{SNIPPET}¶```
Add type hints and a docstring:¶¶```python¶{SNIPPET}¶```
Can this be written more simply?¶¶```python¶{SNIPPET}¶```
Explain line by line, for {AUDIENCE}:¶¶```python¶{SNIPPET}¶```
Write tests for this code:¶¶```python¶{SNIPPET}¶```
Find the bug:¶¶```python¶{BUG}¶```
This code does not do what I want. What is wrong?¶¶```python¶{BUG}¶```[¶¶{REQUIREMENT}|]
Review this code and correct it:¶¶```python¶{BUG}¶```
Why does this fail, and how do I fix it?¶¶{BUG}
I get this error in Python: {TRACE}. What does it mean[?| and how do I find the cause?]
What does the error "{TRACE}" mean? Show an example that causes it and one that does not.
What does `{BUILTIN}` do in Python? Give {2-4} examples.
How do I {PYTHON_HOW} in Python?[ {LENGTH}|]
What is the difference between {BUILTIN_PAIR} in Python?
When should I use {CLASS}? Give an example in Python.
Give me {2-5} exercises on {PYTHON_TOPIC} in Python, with solutions.
Explain {PYTHON_TOPIC} in Python with a short example.
How is {PYTHON_TOPIC} in Python different from {CODING_LANGUAGE}?
""")
SHELL_PY = words(
    """rename all photos in a folder by date; read a CSV file and print the average of the [second|third|fourth] column; count the words of
    all text files in a folder; delete empty folders; merge {3-12} JSON files into one; download a page and print its title; convert a
    list of temperatures in a file; back up a folder with the date in its name; plot a line from a CSV file; check every {5-60/5}
    minutes whether a website can be reached; send an e-mail with an attachment; draw {5-20} random names from a list"""
)
BUILTIN_PAIR = words(
    """`is` and `==`; `list.sort` and `sorted`; `append` and `extend`; `range` and `enumerate`; `return` and `yield`; `dict.get` and square
    brackets; `copy.copy` and `copy.deepcopy`; `*args` and `**kwargs`; `break` and `continue`; `/` and `//`; `str` and `repr`; `global`
    and `nonlocal`; a list and a generator expression; a class attribute and an instance attribute; `import x` and `from x import y`"""
)
BUILTIN = words(
    """enumerate; zip; map; filter; sorted; reversed; any; all; isinstance; set; frozenset; getattr; yield; lambda; with; global; nonlocal;
    assert; self; super(); __init__; __repr__; *args; **kwargs; range; len; list.sort; str.join; str.split; dict.get; dict.items;
    collections.Counter; functools.reduce; itertools.chain; is; ==; copy.deepcopy; round; print; open"""
)
PYTHON_HOW = words(
    """reverse a string; sort a dictionary by its values; read a file line by line; remove spaces from a text; make a list of lists; copy a
    list; pick {2-9} random items; round to {2-5} digits; format a number with thousands separators; get today's date; catch several
    exceptions; call a function with a list of arguments; read JSON; write to a CSV file; parse command line arguments; measure time;
    run a function in parallel; check whether a file exists; join two lists without duplicates; find the index of the largest value;
    swap two variables; loop over two lists at once; make an HTTP request; create a virtual environment; test a function"""
)
PYTHON_TOPIC = words(
    """list comprehension; slicing; exception handling; inheritance; decorators; generators; closures; dictionaries; sets; string
    formatting; recursion; file handling; dataclasses; context managers; sorting with keys; async and await; type hints; unpacking;
    modules and imports; mutable default arguments; scope of variables; iterators"""
)
