"""Reuse changes the time and nothing else: every answer equals that of a model that forgot all."""

import itertools

import pytest
import torch
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from agents.attention import NAME, attention
from agents.local_model import LocalModel
from agents.prefixes import Prefix, PrefixStore
from configs import GenerationConfig

GREEDY = GenerationConfig(temperature=0, max_new_tokens=8)


@pytest.fixture
def walk(make_prompt, prompt_config):
    """Prompts as an episode brings them: on, undo, another config, a thought, back and on."""
    other = prompt_config.model_copy(update={"system_prompt": "You are a Sokoban player."})
    think = prompt_config.model_copy(update={"enable_think": True})
    walked = [(n, prompt_config) for n in (1, 2, 3, 2, 2, 6, 3)]
    walked += [(3, other), (6, prompt_config), (4, other), (3, think), (7, prompt_config)]
    return [(config, make_prompt(turns, config)) for turns, config in walked]


def whole_logits(model, tokens):
    """What a forward pass over everything says after the last token."""
    with torch.inference_mode():
        return model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0, -1].float()


def check_walk(forgetful, mindful, walk, last, mode="free"):
    for config, prompt in walk:
        agents = [m.agent(config, mode=mode, generation=GREEDY) for m in (forgetful, mindful)]
        plain, reused = (last(agent.respond(prompt)) for agent in agents)
        assert plain.reused_tokens == 0
        assert reused.token_ids == plain.token_ids
        assert reused.text == plain.text
        assert dict(reused.action_log_probabilities) == pytest.approx(
            dict(plain.action_log_probabilities), abs=1e-4
        )
        yield reused


@pytest.mark.parametrize(
    ("mode", "limit"),
    [("free", 2**30), ("grammar", 2**30), ("choice", 2**30), ("free", 1_500_000)],
)
def test_reuse_changes_nothing(tokenizer, tiny_llama, walk, last, mode, limit):
    forgetful = LocalModel(tokenizer, tiny_llama(), "forgetful", cache_bytes=0)
    mindful = LocalModel(tokenizer, tiny_llama(), "mindful", cache_bytes=limit)
    reused = [r.reused_tokens for r in check_walk(forgetful, mindful, walk, last, mode)]
    assert mindful.prefixes.nbytes() <= limit
    assert sum(reused) > 0


@pytest.mark.model
def test_reuse_changes_nothing_with_the_real_model(model, walk, last):
    forgetful = LocalModel(model.tokenizer, model.model, "forgetful", cache_bytes=0)
    mindful = LocalModel(model.tokenizer, model.model, "mindful")
    replies = list(check_walk(forgetful, mindful, walk[1:3], last))
    assert all(reply.reused_tokens > 250 for reply in replies[1:])


@pytest.mark.model
def test_the_logits_are_those_of_a_whole_pass(model, walk):
    store = PrefixStore(model.model, 2**30)
    for _, prompt in walk[:2]:
        tokens = list(prompt.token_ids)
        prefix = store.take(tokens)
        logits = prefix.extend(tokens[len(prefix) :])
        expected = whole_logits(model.model, tokens)
        assert torch.allclose(logits, expected, atol=1e-4, rtol=0)
        store.put(prefix)


def test_an_episode_reuses_all_but_the_new_turn(tiny, make_prompt, prompt_config, last):
    agent = tiny.agent(prompt_config, generation=GREEDY)
    sizes = []
    for turns in range(1, 6):
        reply = last(agent.respond(make_prompt(turns)))
        sizes.append((reply.prompt_tokens, reply.reused_tokens))
    for (before, _), (_, reused) in itertools.pairwise(sizes):
        assert reused >= before - 1


def test_another_visitor_s_prefix_is_left_to_them(tiny, make_prompt, prompt_config, last):
    """A prompt that shares only the opening copies it; the long one stays as it was."""
    agent = tiny.agent(prompt_config, generation=GREEDY)
    last(agent.respond(make_prompt(9)))
    assert last(agent.respond(make_prompt(1))).reused_tokens > 200
    long = last(agent.respond(make_prompt(9)))
    assert long.reused_tokens == long.prompt_tokens - 1


def test_the_oldest_goes_first(tiny_llama):
    model = tiny_llama()
    prefixes = []
    for first in (10, 20, 30):
        prefix = Prefix(model)
        prefix.extend([first, 1, 2, 3])
        prefixes.append(prefix)
    store = PrefixStore(model, 2 * prefixes[0].nbytes())
    for prefix in prefixes:
        store.put(prefix)
    assert store.nbytes() == 2 * prefixes[0].nbytes()
    assert len(store.take([10, 1, 2, 3])) == 0
    assert len(store.take([20, 1, 2, 3])) == 3
    assert len(store.take([30, 1, 9, 9])) == 2


@pytest.mark.parametrize("before", [0, 1, 200, 299, 300])
def test_looking_ahead_equals_reading_each_branch(tiny_llama, before):
    """Whatever part of the prompt was read before, the rest being read in the same pass."""
    model = tiny_llama()
    prompt, branches = list(range(100, 400)), [[5], [6, 7, 8], [], [6, 9]]
    prefix = Prefix(model)
    if before:
        prefix.extend(prompt[:before])
    last, looked = prefix.look_ahead(branches, after=prompt[before:])
    if before < len(prompt):
        assert torch.allclose(last, whole_logits(model, prompt), atol=1e-4, rtol=0)
    for branch, logits in zip(branches, looked, strict=True):
        assert len(logits) == len(branch)
        for at in range(len(branch)):
            expected = whole_logits(model, prompt + branch[: at + 1])
            assert torch.allclose(logits[at], expected, atol=1e-4, rtol=0)
    assert len(prefix) == len(prompt)
    assert torch.allclose(prefix.extend([5]), looked[0][0], atol=1e-4, rtol=0)


@pytest.mark.parametrize("mode", ["free", "grammar", "choice"])
def test_a_windowed_model_answers_without_reuse(windowed, tiny, walk, last, mode):
    """Its caches forget, so nothing is kept; scores come from whole passes."""
    assert windowed.model.config._attn_implementation == "sdpa"
    assert tiny.model.config._attn_implementation == NAME
    for config, prompt in walk[:3]:
        reply = last(windowed.agent(config, mode=mode, generation=GREEDY).respond(prompt))
        assert reply.error is None
        assert reply.reused_tokens == 0
        first = torch.log_softmax(whole_logits(windowed.model, list(prompt.token_ids)), -1)
        for name, value in reply.action_log_probabilities:
            token = windowed.tokenizer(name, add_special_tokens=False)["input_ids"][0]
            assert value < float(first[token]) + 1e-4


class Grouped(torch.nn.Module):
    num_key_value_groups, is_causal = 3, True


@pytest.mark.parametrize("new", [1, 2, 17, 300])
@pytest.mark.parametrize("context", [0, 1, 700])
@pytest.mark.parametrize(("dtype", "close"), [(torch.float32, 1e-5), (torch.bfloat16, 3e-2)])
def test_the_attention_equals_torch_s(new, context, dtype, close):
    chance = torch.Generator().manual_seed(0)
    query, key, value = (
        torch.randn(1, heads, length, 64, generator=chance).to(dtype)
        for heads, length in [(9, new), (3, context + new), (3, context + new)]
    )
    sees = torch.ones(new, context + new, dtype=torch.bool).tril(context)[None, None]
    expected, _ = sdpa_attention_forward(Grouped(), query, key, value, sees, scaling=0.125)
    ours, _ = attention(Grouped(), query, key, value, None, scaling=0.125)
    assert torch.allclose(ours, expected, atol=close, rtol=0)
    if context:
        added = torch.zeros(sees.shape, dtype=dtype).masked_fill_(~sees, torch.finfo(dtype).min)
        masked, _ = attention(Grouped(), query, key, value, added, scaling=0.125)
        assert torch.allclose(masked, expected, atol=close, rtol=0)
