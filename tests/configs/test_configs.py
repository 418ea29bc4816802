"""Every shipped file loads; everything wrong is refused with its line and a remedy."""

from pathlib import Path

import pytest

from configs import (
    ConfigError,
    PromptConfig,
    dump_prompt_config,
    load_config,
    parse_prompt_config,
)
from configs.loading import HERE, parse_config
from configs.schema import ModelsConfig
from envs.sokoban import Vocabulary
from play.fit import check_fits

GUIDE = (HERE / "prompts" / "sokoban.yaml").read_text(encoding="utf-8")


def test_the_shipped_config_is_the_guides(config):
    prompt = config.prompt
    assert prompt.enable_think is False
    assert prompt.max_actions_per_traj == prompt.max_tokens == 100
    assert "".join(prompt.grid_vocab) == "#_O√XPS"
    assert prompt.action_lookup == {1: "Up", 2: "Down", 3: "Left", 4: "Right"}
    assert config.level == "guide"
    assert config.models.default == "smollm2-135m"


@pytest.mark.parametrize("path", sorted((HERE / "prompts").glob("*.yaml")), ids=lambda p: p.stem)
def test_every_prompt_config_loads_and_reads_back(path):
    config = parse_prompt_config(path.read_text(encoding="utf-8"), path.name)
    check_fits(config)
    assert parse_prompt_config(dump_prompt_config(config)) == config
    assert PromptConfig.model_validate_json(config.model_dump_json()) == config


def test_the_vocabularies_differ(config):
    texts = {name: parse_prompt_config(text) for name, text in config.prompts.items()}
    assert texts["sokoban-think"].enable_think
    letters = texts["sokoban-letters"]
    assert Vocabulary.from_config(letters.grid_vocab).symbols == "W.GCBA@"


@pytest.mark.parametrize(
    ("yaml", "line", "what"),
    [
        ("env_instruction: a\ngrid_vocb: {}", 2, "Did you mean grid_vocab?"),
        (
            "env_instruction: a\nzebra: 1",
            2,
            "zebra is not a known key. Known keys: env_instruction",
        ),
        ("grid_vocab: {}", 1, "env_instruction is missing"),
        ("env_instruction: 3", 1, "env_instruction is 3, but input should be a valid string"),
        ("env_instruction: a\nmax_tokens: many", 2, "max_tokens is 'many'"),
        ("env_instruction: a\nmax_tokens: 0", 2, "greater than or equal to 1"),
        ("env_instruction: a\nenable_think: 1", 2, "enable_think is 1"),
        ("env_instruction: a\nformat_penalty: .nan", 2, "format_penalty is nan"),
        ('env_instruction: a\ngrid_vocab:\n  "#": wall\n  "#": x', 4, "already on line 3"),
        ("env_instruction: a\ngrid_vocab:\n  ab: wall", 2, "the symbol 'ab' has 2 characters"),
        ("env_instruction: a\ngrid_lookup: {0: a, 1: a}", 2, "cells 0 and 1 share the symbol 'a'"),
        ("env_instruction: a\naction_lookup:\n  1: Up\n  2: uP", 2, "share the name 'uP'"),
        ("env_instruction: a\naction_lookup: {1: On}", 2, "action_lookup.1 is True"),
        ("env_instruction: a\naction_lookup: {1: 'a||b'}", 1, "holds '||'"),
        ("env_instruction: a\naction_lookup: {}", 2, "there is no action"),
        ("env_instruction: a\nturn_heading: '{trun}'", 2, "the placeholder {trun} is not known"),
        ("env_instruction: a\nspecial_token_list: ['']", 2, "an empty string cannot be removed"),
        ("env_instruction: 'a", 1, "not valid YAML"),
        ("env_instruction: a\n\tb: c", 2, "not valid YAML"),
        ("- a", 1, "a mapping of `key: value` lines is needed"),
        ("", 1, "a mapping of `key: value` lines is needed"),
        ("env_instruction: !!python/object:os.system a", 1, "not valid YAML"),
        ("env_instruction: \x00", None, "cannot be read as YAML"),
        ("? [a]\n: b", 1, "not valid YAML"),
    ],
)
def test_a_bad_prompt_config_is_refused_at_its_line(yaml, line, what):
    with pytest.raises(ConfigError) as caught:
        parse_prompt_config(yaml, "my.yaml")
    assert what in str(caught.value)
    assert str(caught.value).startswith("my.yaml")
    assert caught.value.line == line
    assert caught.value.remedy


def test_an_alias_of_itself_is_no_trap():
    with pytest.raises(ConfigError):
        parse_prompt_config("&a {env_instruction: *a}")


@pytest.mark.parametrize(
    ("yaml", "what"),
    [
        ("default: a\nmodels: {a: {label: A}}", "none of hub, path, packaged and server is given"),
        ("default: b\nmodels: {a: {label: A, hub: x/a}}", "the default 'b' is not among a"),
        ("default: a\nmodels: {a: {label: A, hub: x/a, dtyp: float32}}", "Did you mean dtype?"),
    ],
)
def test_a_bad_models_file(yaml, what):
    with pytest.raises(ConfigError, match="models.yaml") as caught:
        parse_config(yaml, ModelsConfig, "models.yaml")
    assert what in str(caught.value)


def test_a_missing_file_says_what_is_there():
    with pytest.raises(ConfigError, match="playgroud.yaml: there is no such file.*playground.yaml"):
        load_config(HERE / "playgroud.yaml")


def test_an_unknown_level_or_prompt(tmp_path: Path):
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "p.yaml").write_text(GUIDE, encoding="utf-8")
    (tmp_path / "playground.yaml").write_text("prompt: q\nlevel: l\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="prompt 'q' is not there. Choose one of p"):
        load_config(tmp_path / "playground.yaml")


def test_a_config_cannot_be_changed(prompt_config):
    with pytest.raises(ValueError, match="frozen"):
        prompt_config.max_tokens = 5
