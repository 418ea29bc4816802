"""Shared by all tests: no model hub, and the shipped configs and the real tokenizer once."""

from __future__ import annotations

import os
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import pytest

from agents import load_tokenizer
from configs import PlaygroundConfig, PromptConfig, load_config

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def config() -> PlaygroundConfig:
    return load_config("configs/playground.yaml")


@pytest.fixture(scope="session")
def prompt_config(config: PlaygroundConfig) -> PromptConfig:
    return config.prompt


@pytest.fixture(scope="session")
def tokenizer():
    """The tokenizer and chat template inside the embedded model's file."""
    return load_tokenizer("smollm2-135m")
