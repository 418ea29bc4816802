"""From a raw response to an action, by the rules of the prompt guide.

A response that cannot be read is data, never an exception: `problem` says which rule failed and
where. It knows the prompt config and nothing of the game.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from configs.schema import PromptConfig

INVALID = "INVALID"

# Groups are non-greedy, the dot matches newlines, and `$` lets one trailing newline through: the
# training code's own patterns, with Python's meaning of each sign.
_ANSWER = re.compile(r"^<answer>(.*?)</answer>$", re.DOTALL)
_THOUGHT_AND_ANSWER = re.compile(r"^<think>(.*?)</think>\s*<answer>(.*?)</answer>$", re.DOTALL)


@dataclass(frozen=True)
class ParsedResponse:
    """What a raw response amounts to.

    Attributes:
        llm_response: the canonical response, which goes into the history.
        actions: the action names in the answer: the first alone, or none.
        action: the environment's number for it, or None where the turn is invalid.
        problem: which rule failed and where, as a sentence; None where the turn is valid.
        note: what a valid response lost on the way (for example a second action); else None.
    """

    llm_response: str
    actions: tuple[str, ...]
    action: int | None
    problem: str | None = None
    note: str | None = None


def complete_response(text: str, prompt_config: PromptConfig) -> str:
    """`text` with the forced start in front, unless it brings its own."""
    start = prompt_config.response_start
    return text if text.startswith(start) else start + text


def canonical_response(action: int, prompt_config: PromptConfig) -> str:
    """The response that names `action` and nothing else; with thinking on, an empty thought."""
    name = (prompt_config.action_lookup or {}).get(action, INVALID)
    return _canonical("", name, prompt_config)


def parse_response(raw: str, prompt_config: PromptConfig) -> ParsedResponse:
    """Read `raw`, the forced start and what came after it, special tokens already skipped."""
    pattern = _THOUGHT_AND_ANSWER if prompt_config.enable_think else _ANSWER
    match = pattern.match(raw)
    if match is None:
        return ParsedResponse(
            _canonical(INVALID, INVALID, prompt_config),
            (),
            None,
            _failed_rule(raw, prompt_config.enable_think),
        )
    *thoughts, answer = (_without_special_tokens(part, prompt_config) for part in match.groups())
    thought = thoughts[0] if thoughts else ""
    pieces = [piece.strip() for piece in answer.split(prompt_config.action_sep)]
    actions = [piece for piece in pieces if piece]
    note = None
    if len(actions) > 1:
        answer = actions[0]
        note = f"{len(actions)} actions were given; only the first, {answer!r}, counts."
    names = tuple(actions[:1])
    action = _look_up(names[0], prompt_config) if names else None
    problem = None if action is not None else _no_action(names, prompt_config)
    return ParsedResponse(_canonical(thought, answer, prompt_config), names, action, problem, note)


def _canonical(thought: str, answer: str, config: PromptConfig) -> str:
    start = f"<think>{thought}</think>" if config.enable_think else ""
    return f"{start}<answer>{answer}</answer>"


def _without_special_tokens(part: str, config: PromptConfig) -> str:
    for token in config.special_token_list:
        part = part.replace(token, "")
    return part.strip()


def _look_up(name: str, config: PromptConfig) -> int | None:
    for action, known in (config.action_lookup or {}).items():
        if known.lower() == name.lower():
            return int(action)
    return None


def _no_action(names: tuple[str, ...], config: PromptConfig) -> str:
    if not names:
        return "The answer is empty: no action is named between <answer> and </answer>."
    known = ", ".join((config.action_lookup or {}).values()) or "none: action_lookup is not set"
    return f"{_quote(names[0])} is not an action. The available actions are {known}."


def _failed_rule(raw: str, think: bool) -> str:
    """The first rule, from the left, that the response breaks, and at which character."""
    order = ["<think>", "</think>", "<answer>", "</answer>"] if think else ["<answer>", "</answer>"]
    at = 0
    for index, tag in enumerate(order):
        follows = index in (0, 2)  # an opening tag must stand right here, a closing one anywhere
        skip = len(raw[at:]) - len(raw[at:].lstrip()) if index == 2 else 0
        found = at + skip if raw.startswith(tag, at + skip) else -1
        if not follows:
            found = raw.rfind(tag, at) if tag == "</answer>" else raw.find(tag, at)
        if found < 0:
            return _missing(raw, at, tag, order[index - 1] if index else None)
        at = found + len(tag)
    return f"Nothing may follow </answer>, but at character {at + 1} there is {_quote(raw[at:])}."


def _missing(raw: str, at: int, tag: str, before: str | None) -> str:
    if tag in ("</think>", "</answer>"):
        return f"There is no {tag}: the response ends at character {len(raw)} without it."
    place = f"right after {before}" if before else "at the very start"
    rest = _quote(raw[at:]) if raw[at:] else "the end of the response"
    return f"{tag} must stand {place}, but at character {at + 1} there is {rest}."


def _quote(text: str, longest: int = 40) -> str:
    return repr(text if len(text) <= longest else text[: longest - 1] + "…")
