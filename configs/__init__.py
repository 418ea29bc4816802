"""YAML that a person edits, read into frozen values; what is wrong is refused with its line."""

from configs.loading import dump_prompt_config, load_config, parse_prompt_config
from configs.schema import (
    GenerationConfig,
    ModelConfig,
    ModelsConfig,
    PlaygroundConfig,
    PromptConfig,
    ScenarioConfig,
)
from configs.yaml_source import ConfigError

__all__ = [
    "ConfigError",
    "GenerationConfig",
    "ModelConfig",
    "ModelsConfig",
    "PlaygroundConfig",
    "PromptConfig",
    "ScenarioConfig",
    "dump_prompt_config",
    "load_config",
    "parse_prompt_config",
]
