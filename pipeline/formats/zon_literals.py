"""Literals of ZON: text, numbers and characters, in both directions. Knows nothing of structs."""

from __future__ import annotations

import math
import re

from lark import Token

from pipeline.formats.grammar import Fault, place_in, place_of, shortened
from pipeline.formats.located import MAX_DIGITS

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
WORDS: dict[str, object] = {"true": True, "false": False, "null": None, "inf": math.inf, "nan": math.nan}

# Names that Zig reads as something else where they stand without quotes.
KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        """
        addrspace align allowzero and anyframe anytype asm async await break callconv catch comptime const continue
        defer else enum errdefer error export extern fn for if inline linksection noalias noinline nosuspend opaque or
        orelse packed pub resume return struct suspend switch test threadlocal try union unreachable usingnamespace var
        volatile while
        """,
    )
)

_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
_ESCAPED = {value: f"\\{letter}" for letter, value in _SIMPLE.items() if value != "'"}
_ESCAPE = re.compile(r"\\(?:(?P<simple>[nrt\\'\"])|x(?P<byte>[0-9A-Fa-f]{2})|u\{(?P<code>[0-9A-Fa-f]+)\})")
_ALLOWED = r"\n \r \t \\ \' \" \xNN \u{N}"

_DECIMAL, _HEX = r"[0-9]+(?:_[0-9]+)*", r"[0-9A-Fa-f]+(?:_[0-9A-Fa-f]+)*"
_INTEGER = re.compile(
    rf"(?:0|[1-9][0-9]*(?:_[0-9]+)*)\Z|0x{_HEX}\Z|0o[0-7]+(?:_[0-7]+)*\Z|0b[01]+(?:_[01]+)*\Z",
)
_FLOAT = re.compile(rf"(?:0|[1-9][0-9]*(?:_[0-9]+)*)(?:\.{_DECIMAL})?(?:[eE][+-]?{_DECIMAL})?\Z")
_HEX_FLOAT = re.compile(rf"0x{_HEX}(?:\.{_HEX})?(?:[pP][+-]?{_DECIMAL})?\Z")


def text_of(token: Token) -> str:
    """The text of a string literal, or of a name in quotes.

    Raises:
        Fault: an escape that Zig does not have, a tab, or bytes that are no UTF-8.
    """
    start = token.index('"') + 1
    parts = _parts(token, start)
    try:
        return b"".join(part for _, part in parts).decode()
    except UnicodeDecodeError:
        raise Fault(place_of(token), f"the bytes of {shortened(str(token))} are no UTF-8 text") from None


def lines_of(tokens: list[Token]) -> str:
    """The text of a multiline string: what follows each `\\\\`, with line feeds between.

    Raises:
        Fault: a tab, for which such a string has no escape.
    """
    for token in tokens:
        _refuse_tab(token, 'in a string; write "\\t" in a string of one line')
    return "\n".join(token[2:].removesuffix("\r") for token in tokens)


def code_point_of(token: Token) -> int:
    """The number of a character literal.

    Raises:
        Fault: none or several characters, or an escape that Zig does not have.
    """
    parts = _parts(token, 1)
    if len(parts) != 1:
        raise Fault(place_of(token), f"{shortened(str(token))} holds {len(parts)} characters, expected one")
    escape, character = parts[0]
    return character[0] if escape == "byte" else ord(character.decode())


def number_of(token: Token, sign: Token | None) -> int | float:
    """The number of a literal with its sign.

    Raises:
        Fault: no number of Zig's, one that is too long or too large, or the integer -0.
    """
    place = place_of(sign or token)
    text = str(token)
    if len(text) > MAX_DIGITS:
        raise Fault(place, f"the number {shortened(text)} has more than {MAX_DIGITS:,} digits")
    if _INTEGER.match(text):
        value: int | float = int(text, 0)
        if sign and value == 0:
            raise Fault(place, "-0 is no integer; write 0, or -0.0")
    elif _FLOAT.match(text):
        value = float(text)
    elif _HEX_FLOAT.match(text):
        value = _hex_float(text)
    else:
        raise Fault(place, f"{shortened(text)!r} is not a number{_number_hint(text)}")
    if math.isinf(value):
        raise Fault(place, f"{shortened(text)} is too large for a number")
    return -value if sign else value


def quoted(text: str) -> str:
    """The string literal of a text.

    Raises:
        ValueError: half of a surrogate pair, which is no text.
    """
    return f'"{"".join(_written(character) for character in text)}"'


def written_name(name: str) -> str:
    """A name as it stands after a dot, in quotes where Zig needs them.

    Raises:
        ValueError: an empty name, a NUL in it, or no text.
    """
    if not name or "\0" in name:
        raise ValueError(f"{name!r} cannot be a name in ZON: it is empty or holds a NUL")
    return name if NAME.match(name) and name not in KEYWORDS else f"@{quoted(name)}"


def _parts(token: Token, start: int) -> list[tuple[str, bytes]]:
    """The characters between the quotes: the kind of escape each is (`""`: none), and its bytes."""
    _refuse_tab(token, "between quotes; write \\t")
    parts: list[tuple[str, bytes]] = []
    end = len(token) - 1
    while start < end:
        if token[start] != "\\":
            parts.append(("", token[start].encode()))
            start += 1
            continue
        match = _ESCAPE.match(token, start)
        if match is None or match.end() > end:
            raise Fault(place_in(token, start), f"{token[start : start + 2]!r} begins no escape; there are {_ALLOWED}")
        parts.append((str(match.lastgroup), _escaped(token, match)))
        start = match.end()
    return parts


def _escaped(token: Token, match: re.Match[str]) -> bytes:
    if match["simple"]:
        return _SIMPLE[match["simple"]].encode()
    if match["byte"]:
        return bytes.fromhex(match["byte"])
    code = int(match["code"], 16) if len(match["code"].lstrip("0")) <= 6 else 1 << 24
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise Fault(place_in(token, match.start()), f"{shortened(match[0])} is no character of Unicode")
    return chr(code).encode()


def _refuse_tab(token: Token, what: str) -> None:
    if "\t" in token:
        raise Fault(place_in(token, token.index("\t")), f"a tab may not stand {what}")


def _hex_float(text: str) -> float:
    try:
        return float.fromhex(text.replace("_", ""))
    except OverflowError:
        return math.inf


def _number_hint(text: str) -> str:
    if re.match(r"0[0-9_]", text):
        return "; it may not begin with 0 (0o stands before octal digits)"
    if re.match(r"0[XOB]", text):
        return "; write 0x, 0o or 0b in small letters"
    if text.endswith(".") or ".." in text:
        return "; digits stand on both sides of the point"
    if "_" in text:
        return "; _ stands between digits"
    return "; numbers look like 10, 1.5, 1e9, 0x1F, 0o17 or 0b11"


def _written(character: str) -> str:
    if character in _ESCAPED:
        return _ESCAPED[character]
    if character.isprintable():
        return character
    if "\ud800" <= character <= "\udfff":
        raise ValueError(f"the text holds {character!r}, half of a surrogate pair, which is no text")
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{{{code:x}}}"
