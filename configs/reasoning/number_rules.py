"""Rules for families whose answer is a number, a date or a duration. Pure functions from question to answer."""

import ast
import datetime
import math
import operator
import re
from collections.abc import Callable

OPERATORS: dict[type, Callable] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
BASES = {"binary": 2, "octal": 8, "decimal": 10, "hexadecimal": 16}
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
ANIMALS = {
    0: "fish jellyfish leech shark snail snake worm",
    2: "bird chicken duck human",
    4: "cat cow deer dog elephant giraffe goat horse lion sheep tiger",
    5: "starfish",
    6: "ant bee beetle butterfly cockroach cricket firefly grasshopper insect wasp",
    8: "scorpion spider",
    10: "crab lobster shrimp",
}
LEGS = {animal: legs for legs, animals in ANIMALS.items() for animal in animals.split()}


def evaluate(expression: str) -> int | float:
    """An arithmetic expression, without names or calls."""

    def value(node: ast.expr) -> int | float:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return node.value
        if isinstance(node, ast.UnaryOp):
            return OPERATORS[type(node.op)](value(node.operand))
        if isinstance(node, ast.BinOp):
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        raise ValueError(f"no arithmetic: {ast.unparse(node)}")

    return value(ast.parse(expression.strip(), mode="eval").body)


def integers(text: str) -> list[int]:
    """All whole numbers of a text, in order."""
    return [int(number) for number in re.findall(r"\d+", text)]


def after(question: str, mark: str) -> str:
    """What follows a mark."""
    _, found, rest = question.rpartition(mark)
    if not found:
        raise ValueError(f"the rule expects {mark!r} in the question")
    return rest


def base_conversion(question: str) -> str:
    """Between bases up to 36, by repeated division."""
    found = re.search(r"convert the (\S+) number (\w+) to (\S+)", question)
    if not found:
        raise ValueError("the rule expects 'convert the BASE number N to BASE'")
    source, base = (BASES.get(name) or int(name.removeprefix("base-")) for name in found.group(1, 3))
    number, digits = int(found[2], source), ""
    while number:
        number, digit = divmod(number, base)
        digits = DIGITS[digit] + digits
    return digits or "0"


def basic_arithmetic(question: str) -> str:
    """Python's own arithmetic; a quotient that comes out whole is printed as a whole number."""
    result = evaluate(after(question, "Calculate ").rstrip("."))
    return str(int(result)) if result == int(result) else str(result)


def bitwise_arithmetic(question: str) -> str:
    """The last line is the expression."""
    return hex(int(evaluate(question.strip().splitlines()[-1])))


def calendar_arithmetic(question: str) -> str:
    """Knows leap years and weekdays of one full date; other questions about the calendar are not understood."""
    if leap := re.search(r"(\d{4}) (?:is )?a leap year", question):
        year = int(leap[1])
        return "Yes" if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else "No"
    if date := re.search(
        r"for (\d\d)/(\d\d)/(\d{4})\.|did (\w+ \d+, \d{4}) fall\?|week was (\w+ \d+, \d{4})\?", question
    ):
        text = date[4] or date[5]
        day = datetime.datetime.strptime(text, "%B %d, %Y") if text else datetime.date(*map(int, date.group(3, 1, 2)))
        return day.strftime("%A")
    raise ValueError("the rule knows leap years and weekdays only")


def count_bits(question: str) -> str:
    """Ones in binary."""
    return str(integers(after(question, "number "))[0].bit_count())


def count_primes(question: str) -> str:
    """A sieve up to the larger number."""
    first, last = integers(question)
    is_prime = bytearray([0, 0]) + bytearray([1]) * (last - 1)
    for number in range(2, math.isqrt(last) + 1):
        if is_prime[number]:
            is_prime[number * number :: number] = bytes(len(range(number * number, last + 1, number)))
    return str(sum(is_prime[first:]))


def decimal_chain_sum(question: str) -> str:
    """Naive on purpose: binary fractions, so `0.1 + 0.2` does not print as `0.3`, and trailing zeros are lost."""
    return str(evaluate(after(question, "problem: ").rstrip(" =")))


def fraction_simplification(question: str) -> str:
    """Right in value; always written `$a/b$`, whichever of the four notations was asked in."""
    numerator, denominator = integers(question)[:2]
    divisor = math.gcd(numerator, denominator)
    return f"${numerator // divisor}/{denominator // divisor}$"


def leg_counting(question: str) -> str:
    """By a table that does not hold every animal."""
    legs = 0
    for count, animal in re.findall(r"(\d+) ([a-z ]+?)s?(?=[,?])", after(question, "if you have ")):
        if animal not in LEGS:
            raise ValueError(f"how many legs has a {animal}?")
        legs += int(count) * LEGS[animal]
    return str(legs)


def number_sorting(question: str) -> str:
    """A list of quoted numbers, each as it was written."""
    order, listed = re.findall(r"in (ascending|descending) order: (.*)", question)[0]
    return str(sorted(listed.split(", "), key=float, reverse=order == "descending"))


def time_intervals(question: str) -> str:
    """Between two times of one day in the same notation; dates and time zones are not understood."""
    times = re.findall(r"(?<![\d-] )\b(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{3}))?)?(?= |\?|\.)(?! \(?UTC)", question)
    if len(times) != 2 or re.search(r"\d{4}", question):
        raise ValueError("the rule expects two times of one day")
    (start, end), fields = ([[int(f) for f in time if f] for time in times]), sum(map(bool, times[0]))
    units = (3_600_000, 60_000, 1_000, 1)[:fields]
    rest = sum((b - a) * unit for a, b, unit in zip(start, end, units, strict=True)) % 86_400_000
    counts = [rest // unit % limit for unit, limit in zip(units, (24, 60, 60, 1_000), strict=False)]
    return ":".join(f"{count:02}" for count in counts[:3]) + (f".{counts[3]:03}" if fields == 4 else "")


RULES: dict[str, Callable[[str], str]] = {
    "base_conversion": base_conversion,
    "basic_arithmetic": basic_arithmetic,
    "bitwise_arithmetic": bitwise_arithmetic,
    "calendar_arithmetic": calendar_arithmetic,
    "count_bits": count_bits,
    "count_primes": count_primes,
    "decimal_chain_sum": decimal_chain_sum,
    "fraction_simplification": fraction_simplification,
    "gcd": lambda question: str(math.gcd(*integers(after(question, "numbers: ")))),
    "lcm": lambda question: str(math.lcm(*integers(after(question, "numbers: ")))),
    "leg_counting": leg_counting,
    "number_sorting": number_sorting,
    "time_intervals": time_intervals,
}
