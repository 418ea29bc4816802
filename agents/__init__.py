"""Who answers a prompt: a person, chance, or a language model on this machine.

Every agent takes the very `Prompt` that is shown and yields `Reply` snapshots; none builds a prompt
or knows a game. Importing this package imports neither torch nor transformers: they come with the
first `load_tokenizer` or `load_model`.
"""

from agents.base import Agent, Alternative, FinishReason, Mode, Reply
from agents.human import HumanAgent
from agents.models import ModelUnavailable, load_model, load_tokenizer
from agents.random_agent import RandomAgent

__all__ = [
    "Agent",
    "Alternative",
    "FinishReason",
    "HumanAgent",
    "Mode",
    "ModelUnavailable",
    "RandomAgent",
    "Reply",
    "load_model",
    "load_tokenizer",
]
