"""The task of the reasoning run: a solver made of one short rule a family, the same answer for the same question.

Most rules are right, some are naive on purpose, some know only part of the wordings and raise on the rest: right, wrong
and failed rows all occur.
"""

import number_rules
import word_rules

import pipeline

RULES = {**number_rules.RULES, **word_rules.RULES}


@pipeline.function
def solve(family: str, question: str) -> str:
    """The answer as text. Raises ValueError where the family's rule does not know the wording."""
    return RULES[family](question)
