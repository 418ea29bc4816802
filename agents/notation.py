"""A set of legal answers in the notations that servers take."""

from __future__ import annotations

import json
import re


def regex(answers: list[str]) -> str:
    """A pattern of exactly these answers; a thought in them is free, but for `<`."""
    return "|".join("[^<]*</think>".join(map(re.escape, _parts(answer))) for answer in answers)


def gbnf(answers: list[str]) -> str:
    """The same as a grammar in the notation of llama.cpp."""
    alternatives = []
    for answer in answers:
        *before, last = _parts(answer)
        pieces = [f"{_quoted(part)} [^<]* " for part in before]
        alternatives.append("".join(pieces) + _quoted("</think>" * bool(before) + last))
    return "root ::= " + " | ".join(alternatives)


def _parts(answer: str) -> list[str]:
    """What stands before the end of a thought, if there is one, and what stands after it."""
    return answer.split("</think>", 1)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
