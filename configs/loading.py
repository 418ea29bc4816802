"""Reads config files from disk into the frozen values of `configs.schema`.

`playground.yaml` names the prompt config, the models and the level to start with; the folders
`prompts/` and `levels/` beside it are what the page offers to choose from.
"""

from __future__ import annotations

import difflib
import os
import reprlib
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, Field, ValidationError, field_validator

from configs.schema import (
    Frozen,
    GeneratorConfig,
    ModelsConfig,
    PlaygroundConfig,
    PromptConfig,
    ScenarioConfig,
)
from configs.yaml_source import ConfigError, YamlSource

HERE = Path(__file__).parent
Model = TypeVar("Model", bound=BaseModel)


class _ScenariosFile(Frozen):
    """The keys of the scenarios file."""

    scenarios: tuple[ScenarioConfig, ...] = ()

    @field_validator("scenarios", mode="before")
    @classmethod
    def _list_is_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value


class _PlaygroundFile(Frozen):
    """The keys of `playground.yaml` itself."""

    prompt: str = Field(description="a name in prompts/")
    models: str = "models.yaml"
    level: str = Field(description="a name in levels/")
    generator: GeneratorConfig = GeneratorConfig()
    scenarios: str | None = Field(None, description="a file of ready demonstrations")


def load_config(path: str | os.PathLike[str] = HERE / "playground.yaml") -> PlaygroundConfig:
    """Read `playground.yaml` and every file that it names.

    Raises:
        ConfigError: a file is missing, or what it says is refused, with file, line and remedy.
    """
    path = _find(Path(path))
    folder = path.parent
    file = parse_config(_read(path), _PlaygroundFile, str(path))
    prompts = _texts(folder / "prompts", ".yaml")
    levels = _texts(folder / "levels", ".xsb")
    _check_name(file.prompt, prompts, path, "prompt")
    _check_name(file.level, levels, path, "level")
    prompt_path = folder / "prompts" / f"{file.prompt}.yaml"
    models_path = folder / file.models
    return PlaygroundConfig(
        prompt=parse_prompt_config(prompts[file.prompt], str(prompt_path)),
        prompts=prompts,
        prompt_name=file.prompt,
        models=parse_config(_read(models_path), ModelsConfig, str(models_path)),
        # The level to start with comes first wherever levels are listed.
        levels={file.level: levels[file.level], **levels},
        level=file.level,
        generator=file.generator,
        templates=_texts(folder / "templates", ".jinja"),
        scenarios=_scenarios(folder / file.scenarios) if file.scenarios else (),
    )


def parse_prompt_config(text: str, where: str = "prompt config") -> PromptConfig:
    """Read a prompt config from YAML text.

    Raises:
        ConfigError: with the line of what is wrong and what to do.
    """
    return parse_config(text, PromptConfig, where)


def parse_config(text: str, model: type[Model], where: str) -> Model:
    """Read YAML text as `model`, or say at which line it is wrong."""
    source = YamlSource(text, where)
    try:
        return model.model_validate(source.data)
    except ValidationError as error:
        raise _explain(error, model, source) from None


def dump_prompt_config(config: PromptConfig) -> str:
    """The config as YAML text that reads back as the same config; defaults are left out."""
    data = config.model_dump(mode="json", exclude_defaults=True)
    for name in ("action_lookup", "grid_lookup"):
        if data.get(name):
            data[name] = {int(key): text for key, text in data[name].items()}
    return yaml.safe_dump(data, allow_unicode=True, sort_keys=False, width=100)


def _scenarios(path: Path) -> tuple[ScenarioConfig, ...]:
    return parse_config(_read(path), _ScenariosFile, str(path)).scenarios


def _find(path: Path) -> Path:
    """`configs/playground.yaml` also when the current folder is not the project's."""
    if not path.is_absolute() and not path.exists() and (HERE.parent / path).exists():
        return HERE.parent / path
    return path


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(
            "there is no such file",
            where=str(path),
            remedy=f"Check the name; {path.parent} holds {_listing(path.parent)}",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"the file cannot be read: {error}", where=str(path), remedy="It must be UTF-8 text"
        ) from None


def _listing(folder: Path) -> str:
    names = sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []
    return ", ".join(names) or "nothing"


def _texts(folder: Path, suffix: str) -> dict[str, str]:
    return {path.stem: _read(path) for path in sorted(folder.glob(f"*{suffix}"))}


def _check_name(name: str, known: dict[str, str], path: Path, field: str) -> None:
    if name not in known:
        raise ConfigError(
            f"{field} {name!r} is not there",
            where=str(path),
            remedy=f"Choose one of {', '.join(known) or '(none found)'}",
        )


def _explain(error: ValidationError, model: type[BaseModel], source: YamlSource) -> ConfigError:
    """The first problem that pydantic found, in words, at its line; the others are counted."""
    problems = error.errors(include_url=False, include_context=False)
    first = problems[0]
    path = [step for step in first["loc"] if step != "[key]"]
    name = ".".join(str(step) for step in path) or "the config"
    what, remedy = _words(first["type"], first["msg"], first["input"], name, path, model)
    if len(problems) > 1:
        others = sorted({".".join(map(str, p["loc"][:2])) for p in problems[1:]})
        remedy += f". Also wrong: {', '.join(others)}"
    return ConfigError(what, where=source.where, line=source.line(path), remedy=remedy)


def _words(
    kind: str, message: str, seen: Any, name: str, path: list[Any], model: type[BaseModel]
) -> tuple[str, str]:
    if kind == "extra_forbidden":
        known = list(_model_at(model, path[:-1]).model_fields)
        close = difflib.get_close_matches(str(path[-1]), known, n=1)
        hint = f"Did you mean {close[0]}?" if close else f"Known keys: {', '.join(known)}"
        return f"{name} is not a known key", hint
    if kind == "missing":
        return f"{name} is missing", f"Add a line `{path[-1]}: …`"
    if kind == "value_error":
        what, _, remedy = message.removeprefix("Value error, ").partition("; ")
        return f"{name}: {what}", remedy[:1].upper() + remedy[1:]
    remedy = "Put the value in quotes" if kind == "string_type" else "Correct the value"
    seen = reprlib.repr(seen)
    return f"{name} is {seen}, but {message[:1].lower() + message[1:]}", remedy


def _model_at(model: type[BaseModel], path: list[Any]) -> type[BaseModel]:
    """The model that the keys at `path` belong to, as far as models go."""
    for step in path:
        info = model.model_fields.get(str(step))
        inner = info.annotation if info else None
        candidates = [inner, *getattr(inner, "__args__", ())]
        found = [c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)]
        if found:
            model = found[0]
    return model
