"""Rules for families about letters and words. Pure functions from question to answer."""

import re
from collections.abc import Callable

COMMON_WORDS = set(
    re.findall("[A-Z]+", "A AND ARE AS AT BE BY FOR FROM HAD HE HIS I IN IS IT NOT OF ON OR THAT THE TO WAS WITH")
)


def last_line(question: str) -> str:
    """The last line that is not blank."""
    return question.strip().splitlines()[-1]


def binary_alternation(question: str) -> str:
    """Half the places that differ from an alternating string; -1 where zeros and ones cannot alternate."""
    bits = last_line(question).rsplit(": ", 1)[1]
    ones = bits.count("1")
    if abs(len(bits) - 2 * ones) > 1:
        return "-1"
    starting_with = {first: sum(bit != "01"[(i + first) % 2] for i, bit in enumerate(bits)) for first in (0, 1)}
    fitting = [wrong for wrong in starting_with.values() if wrong % 2 == 0]
    return str(min(fitting) // 2)


def caesar_cipher(question: str) -> str:
    """The shift that gives the most common words. A text without any of them is left as it is: wrong."""
    found = re.search(r"cipher text: (.*?)\. Provide", question)
    if not found:
        raise ValueError("the rule expects 'cipher text: …'")

    def shifted(by: int) -> str:
        return re.sub("[A-Z]", lambda letter: chr((ord(letter[0]) - 65 - by) % 26 + 65), found[1])

    return max(map(shifted, range(26)), key=lambda text: sum(word in COMMON_WORDS for word in text.split()))


def isomorphic_strings(question: str) -> str:
    """Both strings have the same pattern of first occurrences."""
    first, second = last_line(question).split()
    return str([first.index(letter) for letter in first] == [second.index(letter) for letter in second])


def letter_counting(question: str) -> str:
    """Naive on purpose: a capital is not the letter that is asked for."""
    letter, text = re.findall(r'letter "(.)" appear in the text: "(.*)"', question)[0]
    return str(text.count(letter))


def word_sorting(question: str) -> str:
    """Naive on purpose: as in a dictionary, where capitals do not come first."""
    order, listed = re.findall(r"in (ascending|descending) order .*: (.*)", question)[0]
    return ", ".join(sorted(listed.split(", "), key=str.lower, reverse=order == "descending"))


RULES: dict[str, Callable[[str], str]] = {
    "binary_alternation": binary_alternation,
    "caesar_cipher": caesar_cipher,
    "isomorphic_strings": isomorphic_strings,
    "letter_counting": letter_counting,
    "spell_backward": lambda question: question.rsplit(": ", 1)[1].strip()[::-1],
    "word_sequence_reversal": lambda question: ", ".join(last_line(question).split(": ", 1)[1].split(", ")[::-1]),
    "word_sorting": word_sorting,
}
