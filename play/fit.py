"""How a prompt config fits the environment: its symbols and its actions."""

from __future__ import annotations

from configs.schema import PromptConfig
from envs.sokoban import ACTION_NAMES, Vocabulary
from errors import UserError


def check_fits(config: PromptConfig) -> None:
    """Refuse a config whose actions the environment does not have, or whose symbols leave a gap."""
    Vocabulary.from_config(config.grid_vocab, config.grid_lookup)
    for number, name in (config.action_lookup or {}).items():
        if not 0 <= number < len(ACTION_NAMES):
            known = ", ".join(f"{i} {action}" for i, action in enumerate(ACTION_NAMES))
            raise UserError(
                f"action {number} ({name!r}) is not an action of Sokoban",
                where="action_lookup",
                remedy=f"The actions are {known}",
            )


def action_number(action: str | int, config: PromptConfig) -> int:
    """The environment's number for an action given by number or by either of its names.

    Raises:
        UserError: there is no such action in this config.
    """
    lookup = config.action_lookup or {}
    numbers = {name.lower(): number for number, name in enumerate(ACTION_NAMES)}
    numbers |= {name.lower(): number for number, name in lookup.items()}
    number = numbers.get(action.strip().lower()) if isinstance(action, str) else int(action)
    if number not in lookup:
        raise UserError(
            f"{action!r} is not an action",
            where="action_lookup",
            remedy=f"The actions are {', '.join(lookup.values()) or 'none: set action_lookup'}",
        )
    return number
