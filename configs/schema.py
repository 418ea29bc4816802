"""What a config may say: frozen pydantic models that refuse unknown keys and wrong types.

`PromptConfig` bears the names of the prompt guide, and its defaults are the guide's own texts.
Reading files is `configs.loading`; nothing here touches a disk.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

SPECIAL_TOKENS = ("<think>", "</think>", "<answer>", "</answer>", "<|im_start|>", "<|im_end|>")

# What each text may hold between braces.
_PLACEHOLDERS = {
    "vocab_entry": ("symbol", "meaning"),
    "turn_heading": ("turn",),
    "state_block": ("state", "actions_left", "format", "length"),
    "length_text": ("max_tokens",),
    "reward_block": ("reward",),
}


class Frozen(BaseModel):
    """A config value: cannot be changed, knows all its keys, and takes no type for another."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, hide_input_in_errors=True, allow_inf_nan=False
    )

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Frozen:
        return self  # nothing can change it, so a copy would only cost time


class PromptConfig(Frozen):
    """How a prompt is written and a response is read. Every default is the prompt guide's.

    Texts with a `{name}` in them are filled in; each field's description names what it may hold.
    All other braces are ordinary text.
    """

    env_instruction: str = Field(description="The first user message begins with this.")
    grid_vocab: dict[str, str] | None = Field(
        None, description="symbol: meaning, in the order in which the prompt lists them."
    )
    grid_lookup: dict[int, str] | None = Field(
        None,
        description="cell number (0 wall, 1 floor, 2 target, 3 box on target, 4 box, 5 player, "
        "6 player on target): symbol. Needed only where grid_vocab's meanings do not say it.",
    )
    action_lookup: dict[int, str] | None = Field(
        None, description="action number of the environment: the name that a response uses."
    )
    enable_think: bool = Field(
        False, description="Ask for, and force, a thought before the answer."
    )
    max_tokens: int = Field(100, ge=1, description="The length that the prompt allows a response.")
    max_actions_per_traj: int = Field(100, ge=1, description="Turns in one episode.")
    format_penalty: float = Field(0.0, description="Added to the reward of an invalid turn.")
    action_sep: str = Field("||", min_length=1, description="Splits several actions in one answer.")
    special_token_list: tuple[str, ...] = Field(
        SPECIAL_TOKENS, description="Removed from a response before it goes into the history."
    )

    system_prompt: str = (
        "You're a helpful assistant. You are a good game player. "
        "You are aiming to get high reward in the game."
    )
    vocab_heading: str = "\nThe meaning of each symbol in the state is:\n"
    vocab_entry: str = Field("{symbol}: {meaning}", description="{symbol} {meaning}")
    vocab_separator: str = ", "
    actions_heading: str = "\nYour available actions are:\n"
    actions_separator: str = ", "
    turn_heading: str = Field("\nTurn {turn}:\n", description="{turn}, counted from 1")
    state_block: str = Field(
        "State:\n{state}\nYou have {actions_left} actions left. Always output: {format} "
        "with no extra text.Strictly follow this format, history response that do not follow the "
        "format will be set as 'INVALID'. {length}\nDecide the next action:\n",
        description="{state} {actions_left} {format} {length}",
    )
    format_text: str = "<answer> [your answer] </answer>"
    format_think_text: str = "<think> [Your thoughts] </think> <answer> [your answer] </answer>"
    length_text: str = Field(
        "Max response length: {max_tokens} words (tokens).", description="{max_tokens}"
    )
    reward_block: str = Field("Reward:\n{reward}\n", description="{reward}")
    forced_start: str = Field("<answer>", description="Ends the prompt where thinking is off.")
    forced_think_start: str = Field("<think>", description="Ends the prompt where thinking is on.")
    cleaning: tuple[tuple[str, str], ...] = Field(
        (("<|im_end|>\n", "<|im_end|>"),),
        description="[text, replacement] pairs, applied to the finished prompt in this order.",
    )

    history_response: Literal["canonical", "raw"] = Field(
        "canonical", description="Which of a turn's two responses the history shows."
    )
    merge_rewards: bool = Field(
        True, description="The reward and the next turn share one user message."
    )
    merge_system: bool = Field(
        False, description="Put the system text first in the user message, for templates without."
    )
    system_joint: str = Field("\n\n", description="Between the two, where they are merged.")

    @property
    def response_start(self) -> str:
        """The forced start of the answer that is in force: thinking on or off."""
        return self.forced_think_start if self.enable_think else self.forced_start

    @field_validator("grid_vocab", mode="before")
    @classmethod
    def _digits_are_symbols(cls, value: Any) -> Any:
        """YAML reads an unquoted `0` as a number; a symbol is text."""
        if not isinstance(value, dict):
            return value
        return {str(k) if type(k) is int else k: meaning for k, meaning in value.items()}

    @field_validator("action_lookup", "grid_lookup", mode="before")
    @classmethod
    def _numbers_in_quotes(cls, value: Any) -> Any:
        """JSON has no number keys, so a saved config brings them as text."""
        if not isinstance(value, dict):
            return value
        return {
            int(k) if isinstance(k, str) and re.fullmatch(r"[0-9]{1,4}", k) else k: name
            for k, name in value.items()
        }

    @field_validator("special_token_list", "cleaning", mode="before")
    @classmethod
    def _lists_are_tuples(cls, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return tuple(tuple(item) if isinstance(item, list) else item for item in value)

    @field_validator("grid_vocab")
    @classmethod
    def _one_symbol_a_cell(cls, value: dict[str, str] | None) -> dict[str, str] | None:
        for symbol in value or {}:
            _check_symbol(symbol)
        return value

    @field_validator("grid_lookup")
    @classmethod
    def _symbols_differ(cls, value: dict[int, str] | None) -> dict[int, str] | None:
        seen: dict[str, int] = {}
        for cell, symbol in (value or {}).items():
            _check_symbol(symbol)
            if symbol in seen:
                raise ValueError(
                    f"cells {seen[symbol]} and {cell} share the symbol {symbol!r}; "
                    "give every cell a symbol of its own"
                )
            seen[symbol] = cell
        return value

    @field_validator("action_lookup")
    @classmethod
    def _names_differ(cls, value: dict[int, str] | None) -> dict[int, str] | None:
        if value is not None and not value:
            raise ValueError("there is no action; name at least one, or leave the key out")
        seen: dict[str, int] = {}
        for action, name in (value or {}).items():
            if not name or name != name.strip():
                raise ValueError(
                    f"the name {name!r} of action {action} is empty or has white space at an end; "
                    "a response's answer is stripped, so it could never match"
                )
            if name.lower() in seen:
                raise ValueError(
                    f"actions {seen[name.lower()]} and {action} share the name {name!r} "
                    "(upper and lower case count as equal); give each a name of its own"
                )
            seen[name.lower()] = action
        return value

    @field_validator(*_PLACEHOLDERS)
    @classmethod
    def _placeholders_are_known(cls, value: str, info: ValidationInfo) -> str:
        known = _PLACEHOLDERS[info.field_name or ""]
        for name in re.findall(r"\{([a-z_]+)\}", value):
            if name not in known:
                raise ValueError(
                    f"the placeholder {{{name}}} is not known here; "
                    f"use {', '.join(f'{{{k}}}' for k in known)}, or write it without the braces"
                )
        return value

    @field_validator("special_token_list")
    @classmethod
    def _tokens_not_empty(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if "" in value:
            raise ValueError("an empty string cannot be removed from a response; take it out")
        return value

    @field_validator("cleaning")
    @classmethod
    def _cleaning_not_empty(cls, value: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        if any(not old for old, _ in value):
            raise ValueError("the first text of a cleaning pair is empty; name what to replace")
        return value

    @model_validator(mode="after")
    def _names_can_be_answered(self) -> PromptConfig:
        for action, name in (self.action_lookup or {}).items():
            for token in (self.action_sep, *self.special_token_list):
                if token in name:
                    raise ValueError(
                        f"the name {name!r} of action {action} holds {token!r}, which is taken out "
                        "of every answer, so it could never match; choose another name"
                    )
        return self


def _check_symbol(symbol: str) -> None:
    if len(symbol) != 1:
        raise ValueError(
            f"the symbol {symbol!r} has {len(symbol)} characters; a cell takes exactly one"
        )
    if unicodedata.category(symbol) in ("Cc", "Cf", "Cs", "Mn", "Me", "Zl", "Zp"):
        raise ValueError(f"the symbol {symbol!r} cannot be seen; choose a visible character")


class GenerationConfig(Frozen):
    """How a model samples; temperature 0 takes the likeliest token every time."""

    temperature: float = Field(1.0, ge=0)
    top_p: float = Field(1.0, gt=0, le=1)
    top_k: int = Field(0, ge=0, description="0: all tokens")
    seed: int = Field(0, ge=0, lt=2**32)
    max_new_tokens: int = Field(100, ge=1)


class PackagedModel(Frozen):
    """A GGUF file that an installed Python package carries."""

    package: str
    file: str


class ServerConfig(Frozen):
    """An OpenAI-compatible server that answers for a model; set by whoever runs the page."""

    base_url: str | None = Field(None, description="Up to and with `/v1`.")
    base_url_env: str | None = Field(
        None, description="An environment variable that holds it; wins where it is set."
    )
    key_env: str | None = Field(None, description="An environment variable that holds the key.")
    model: str = Field(description="The model's name on that server.")
    tokenizer: str = Field(
        description="Whose chat template and token ids the prompt is made with: another model's "
        "name, a folder, or a repository on the Hub."
    )
    api: Literal["completions", "chat"] = Field(
        "completions", description="chat: the server renders the prompt itself, out of sight."
    )
    sends: Literal["text", "ids"] = Field("text", description="ids: where the server takes them.")
    grammar: Literal["none", "guided_choice", "structured_outputs", "gbnf"] = Field(
        "none",
        description="How it limits an answer: guided_choice (vLLM before 0.12), "
        "structured_outputs (vLLM), gbnf (llama.cpp).",
    )
    scores: Literal["none", "echo"] = Field(
        "none", description="echo: it repeats a prompt with log-probabilities (vLLM, llama.cpp)."
    )
    alternatives: int = Field(0, ge=0, le=20, description="First tokens to ask for; 0: none.")
    returns_ids: bool = Field(False, description="It tells the produced ids (vLLM from 0.10.2).")
    no_top_k: int | None = Field(
        None,
        description="What it calls `top_k: 0`, all tokens (vLLM, llama.cpp: 0; SGLang: -1); "
        "unset: nothing is sent, and its own default holds.",
    )
    seconds_to_wait: float = Field(
        120.0, gt=0, description="For the first or the next token; reading a prompt takes long."
    )

    @field_validator("base_url")
    @classmethod
    def _is_http(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("this is no address; begin it with http:// or https://")
        return value

    @model_validator(mode="after")
    def _somewhere(self) -> ServerConfig:
        if not (self.base_url or self.base_url_env):
            raise ValueError("neither base_url nor base_url_env is given; say where the server is")
        if self.api == "chat" and (self.sends == "ids" or self.scores != "none"):
            raise ValueError(
                "a chat server takes messages, so it can neither be sent ids nor score answers; "
                "leave `sends` and `scores` out, or set `api: completions`"
            )
        return self


class ModelConfig(Frozen):
    """A model by name: where its files are, or who serves it, and what a person is told of it."""

    label: str
    hub: str | None = Field(None, description="The repository on the Hugging Face Hub.")
    packaged: PackagedModel | None = Field(
        None, description="Taken where that package is installed; the Hub's copy elsewhere."
    )
    path: str | None = Field(None, description="A local folder, in place of the Hub.")
    server: ServerConfig | None = Field(None, description="A server, in place of files.")
    licence: str = ""
    dtype: Literal["float32", "bfloat16", "float16", "auto"] = Field(
        "auto", description="auto: the fastest that answers alike on this machine, tried once."
    )
    images: bool = Field(False, description="It has a processor and is shown the board's picture.")

    @model_validator(mode="after")
    def _somewhere(self) -> ModelConfig:
        if not (self.hub or self.path or self.packaged or self.server):
            raise ValueError(
                "none of hub, path, packaged and server is given; say where the model is"
            )
        if self.server and (self.hub or self.path or self.packaged or self.images):
            raise ValueError(
                "a server answers with its own copy of the model, from text; "
                "leave hub, path, packaged and images out, or the server"
            )
        return self


class ModelsConfig(Frozen):
    """All models that the page offers, by the name that the command line uses."""

    default: str
    models: dict[str, ModelConfig]
    generation: GenerationConfig = GenerationConfig()
    cache_megabytes: int = Field(
        2048, ge=0, description="What each model may keep of prompts it has read; 0: nothing."
    )
    seconds_per_answer: float | None = Field(
        None, gt=0, description="An answer that takes longer ends there; unset: no limit."
    )

    @model_validator(mode="after")
    def _default_is_there(self) -> ModelsConfig:
        if self.default not in self.models:
            raise ValueError(f"the default {self.default!r} is not among {', '.join(self.models)}")
        for name, model in self.models.items():
            if model.server and model.server.tokenizer == name:
                raise ValueError(
                    f"the tokenizer of {name!r} is itself; name a model that has files of its own"
                )
        return self


class GeneratorConfig(Frozen):
    """The levels that "New level" makes."""

    rows: Annotated[int, Field(ge=3, le=64)] = 6
    columns: Annotated[int, Field(ge=3, le=64)] = 6
    boxes: Annotated[int, Field(ge=1, le=64)] = 1


class ScenarioConfig(Frozen):
    """A ready demonstration: a level, a prompt config, and the responses that were given so far."""

    title: str
    sentence: str
    level: str = Field(description="a name in levels/, or the text of a level")
    prompt: str | None = Field(None, description="a name in prompts/; the default one otherwise")
    config: str = Field("", description="YAML lines put after that prompt config's")
    template: str | None = Field(None, description="a name in templates/")
    responses: tuple[str, ...] = Field(description="raw responses, forced start included")
    view: Literal["text", "messages", "tokens", "diff", "training"] = "text"
    compare: str | None = Field(None, description="a name in prompts/ to compare with")

    @field_validator("responses", mode="before")
    @classmethod
    def _list_is_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value


class PlaygroundConfig(Frozen):
    """Everything that the page and the command line start from, with its files already read."""

    prompt: PromptConfig
    prompts: dict[str, str] = Field(description="name: YAML text of each shipped prompt config")
    prompt_name: str
    models: ModelsConfig
    levels: dict[str, str] = Field(description="name: text of each shipped level file")
    level: str = Field(description="name of the level to start with")
    generator: GeneratorConfig = GeneratorConfig()
    templates: dict[str, str] = Field({}, description="name: text of each shipped chat template")
    scenarios: tuple[ScenarioConfig, ...] = ()
