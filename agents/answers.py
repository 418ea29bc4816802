"""Which texts complete a response so that it names a legal action.

The parser of `prompting` is the judge: an ending is right exactly where the parser reads the
completed response as that action. So a changed forced start, another vocabulary or another list
of special tokens needs nothing here. Tokens are not this module's concern.
"""

from __future__ import annotations

from configs.schema import PromptConfig
from errors import UserError
from prompting import parse_response


class NoLegalAnswer(UserError):
    """With this prompt config no response can name a legal action."""


def answer_endings(text: str, prompt_config: PromptConfig) -> dict[str, str]:
    """For each action that `text` (after the forced start) can still name: the shortest ending.

    Raises:
        NoLegalAnswer: the config names no actions, or no ending makes any of them.
    """
    endings = {}
    for action, name in (prompt_config.action_lookup or {}).items():
        ending = _shortest_ending(text, action, name, prompt_config)
        if ending is not None:
            endings[name] = ending
    if not endings:
        raise _explain(prompt_config)
    return endings


def _shortest_ending(text: str, action: int, name: str, config: PromptConfig) -> str | None:
    raw = config.response_start + text
    answer = f"<answer>{name}</answer>"
    wholes = [f"{name}</answer>", answer]
    if config.enable_think:
        wholes += [f"</think>{answer}", f"<think></think>{answer}"]
    # `raw` may end within a tag: then only the rest of it is still to come.
    rests = {
        whole[done:] for whole in wholes for done in range(len(whole)) if raw.endswith(whole[:done])
    }
    for rest in sorted(rests, key=len):
        if parse_response(raw + rest, config).action == action:
            return rest
    return None


def _explain(config: PromptConfig) -> NoLegalAnswer:
    if not config.action_lookup:
        return NoLegalAnswer(
            "the prompt config names no actions, so an answer cannot be limited to them",
            where="action_lookup",
            remedy="Add the actions, or let the model answer freely",
        )
    field = "forced_think_start" if config.enable_think else "forced_start"
    tags = "`<think>`" if config.enable_think else "`<answer>`"
    return NoLegalAnswer(
        f"no legal answer can begin with {config.response_start!r}",
        where=field,
        remedy=f"Let it be the beginning of {tags}, or let the model answer freely",
    )
