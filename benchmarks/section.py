"""RESULTS.md by sections: one is replaced, the others and the notes stay as they are.

some command | python benchmarks/section.py "Kills"      what it prints becomes the section `## Kills`
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")
NOTES = "Notes"  # by hand, and last: new sections stand before it


def section_of(document: str, title: str) -> str:
    """The text below a section's heading, without blank lines around it; "" where there is no such section."""
    for heading, body in _sections(document)[1]:
        if heading == title:
            return body.strip()
    return ""


def with_section(document: str, title: str, text: str) -> str:
    """The document with the section replaced, or added before the notes."""
    head, sections = _sections(document)
    body = f"\n\n{text.strip()}\n\n"
    titles = [heading for heading, _ in sections]
    if title in titles:
        sections[titles.index(title)] = (title, body)
    else:
        sections.insert(titles.index(NOTES) if NOTES in titles else len(sections), (title, body))
    return head.rstrip() + "\n\n" + "".join(f"## {heading}{body}" for heading, body in sections).rstrip() + "\n"


def write_section(title: str, text: str, path: Path) -> None:
    """Replace one section of a file.

    Raises:
        ValueError: the text has headings of its own that would end the section.
    """
    if _sections(text)[1]:
        raise ValueError(f"the text of section {title!r} has a line that begins with '## ': use '### '")
    path.write_text(with_section(path.read_text() if path.exists() else "# Results\n", title, text))


def _sections(document: str) -> tuple[str, list[tuple[str, str]]]:
    head, *pieces = re.split(r"^## ", document, flags=re.MULTILINE)
    split = [piece.partition("\n") for piece in pieces]
    return head, [(heading.strip(), newline + body) for heading, newline, body in split]


def main(arguments: list[str]) -> None:
    """Read the text from stdin."""
    if len(arguments) != 2:
        sys.exit(__doc__)
    write_section(arguments[1], sys.stdin.read(), RESULTS)


if __name__ == "__main__":
    main(sys.argv)
