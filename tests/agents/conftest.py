"""The real model once, tiny ones made from configs, and prompts as the game writes them."""

import itertools

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

from agents import load_model
from agents.local_model import LocalModel
from prompting import format_messages, render_prompt

# Turns of a 5x5 board: each state with the response and the reward that follow.
STATES = [
    "#####\n#__O#\n#P_X#\n#___#\n#####",
    "#####\n#__O#\n#_PX#\n#___#\n#####",
    "#####\n#__O#\n#__X#\n#_P_#\n#####",
    "#####\n#__O#\n#__X#\n#__P#\n#####",
]
ACTIONS = ["Right", "Down", "Right", "Up"]


def make_history(turns):
    """`turns` states, all but the last with a response and a reward."""
    history = [
        {
            "state": STATES[n % 4],
            "actions_left": 100 - n,
            "llm_response": f"<answer>{ACTIONS[n % 4]}</answer>",
            "llm_raw_response": f"<answer> {ACTIONS[n % 4]} </answer>",
            "reward": -0.1,
        }
        for n in range(turns)
    ]
    last = history[-1]
    history[-1] = {"state": last["state"], "actions_left": last["actions_left"]}
    return history


@pytest.fixture(scope="session")
def make_prompt(tokenizer, prompt_config):
    def make(turns=1, config=prompt_config):
        return render_prompt(format_messages(config, make_history(turns)), tokenizer, config)

    return make


@pytest.fixture(scope="session")
def model():
    """The embedded model."""
    return load_model("smollm2-135m")


@pytest.fixture(scope="session")
def tiny_llama(tokenizer):
    """A maker of small random models with grouped queries."""

    def make(seed=0, positions=4096):
        torch.manual_seed(seed)
        return LlamaForCausalLM(LlamaConfig(**shape(tokenizer), max_position_embeddings=positions))

    return make


@pytest.fixture
def tiny(tokenizer, tiny_llama):
    return LocalModel(tokenizer, tiny_llama(), "tiny")


@pytest.fixture
def windowed(tokenizer):
    """A model whose layers see the last 64 tokens only, so that its caches cannot be cropped."""
    torch.manual_seed(0)
    model = MistralForCausalLM(MistralConfig(**shape(tokenizer), sliding_window=64))
    return LocalModel(tokenizer, model, "windowed")


def shape(tokenizer):
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": 48,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 6,
        "num_key_value_heads": 2,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }


@pytest.fixture(scope="session")
def last():
    """Reads replies to the end; each must keep to what the protocol says of snapshots."""

    def read(replies):
        replies = list(replies)
        assert all(reply.finish_reason is None for reply in replies[:-1])
        assert replies[-1].finish_reason is not None
        for earlier, later in itertools.pairwise(replies):
            assert later.token_ids[: len(earlier.token_ids)] == earlier.token_ids
            assert later.text.startswith(earlier.text)
        return replies[-1]

    return read
