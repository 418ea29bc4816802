"""Every lint: when it comes, what it says, where it points; and that a clean prompt has none."""

import copy
import time
from pathlib import Path

import pytest
from tokenizers import normalizers
from tokenizers.processors import TemplateProcessing

from prompting import format_messages, render_prompt
from prompting.lints import lints

TEMPLATES = Path(__file__).parents[1] / "data" / "templates"
OPEN = {"state": "#_P", "actions_left": 8}


def turn(response="<answer>Up</answer>", **other):
    both = {"llm_response": response, "llm_raw_response": response}
    return {"state": "#P_", "actions_left": 9, "reward": -0.1} | both | other


THOUGHT = turn("<think>so</think><answer>Up</answer>")


@pytest.fixture
def with_template(tokenizer):
    def make(name):
        other = copy.deepcopy(tokenizer)
        if name:
            other.chat_template = (TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8")
        return other

    return make


@pytest.fixture
def found(prompt_config, with_template):
    """The prompt and its lints, without the hints on white space that is trimmed."""

    def find(history, template=None, config=prompt_config, **options):
        tokenizer = with_template(template)
        prompt = render_prompt(format_messages(config, history), tokenizer, config)
        return prompt, lints(prompt, config, tokenizer, **options)

    return find


def kinds(some):
    return [lint.kind for lint in some]


def only(some, kind):
    (lint,) = [lint for lint in some if lint.kind == kind]
    return lint


def thinking(config):
    return config.model_copy(update={"enable_think": True})


def test_a_clean_prompt_has_none(found):
    assert found([turn(), OPEN])[1] == []
    assert found([OPEN], "alternates")[1] == []
    assert found([turn(), OPEN], "bare-system")[1] == []


@pytest.mark.parametrize(
    ("history", "template", "words"),
    [
        ([THOUGHT, THOUGHT, OPEN], "drops-thoughts", "the thought of turns 1 to 2, so"),
        ([THOUGHT, turn(), THOUGHT, OPEN], "drops-thoughts", "the thought of turns 1, 3, so"),
        ([THOUGHT, OPEN], "drops-thoughts", "the thought of turn 1, so"),
    ],
)
def test_dropped_thoughts(found, prompt_config, history, template, words):
    _, some = found(history, template, thinking(prompt_config))
    assert kinds(some) == ["thought_dropped"]
    assert words in some[0].message
    assert some[0].span is None


def test_trimmed_ends(found):
    _, some = found([turn(), OPEN], "folds-system")
    assert kinds(some) == ["trimmed"]
    assert "ends of 2 messages (turns 1 to 2)" in some[0].message


def test_what_else_was_left_out(found, with_template, prompt_config):
    tokenizer = with_template(None)
    tokenizer.chat_template = (
        "{% for m in messages if m.role != 'system' %}{{ m.content }}<|im_end|>{% endfor %}"
    )
    prompt = render_prompt(format_messages(prompt_config, [OPEN]), tokenizer, prompt_config)
    some = lints(prompt, prompt_config, tokenizer)
    assert kinds(some) == ["changed"]
    assert 'leaves out "You\'re a helpful assistant. You are a g…" of the system' in some[0].message


def test_a_double_bos(found):
    prompt, some = found([OPEN], "trims")
    lint = only(some, "double_bos")
    assert "begins with <|im_start|> twice" in lint.message
    assert prompt.text[slice(*lint.span)] == "<|im_start|><|im_start|>"
    assert "double_bos" not in kinds(found([OPEN], "bos")[1])


def test_a_tokenizer_that_would_add_another_bos(with_template, prompt_config):
    tokenizer = with_template("bos")
    tokenizer._tokenizer.post_processor = TemplateProcessing(
        single="<|im_start|> $A", special_tokens=[("<|im_start|>", tokenizer.bos_token_id)]
    )
    prompt = render_prompt(format_messages(prompt_config, [OPEN]), tokenizer, prompt_config)
    assert prompt.token_ids[:2].count(tokenizer.bos_token_id) == 1
    some = lints(prompt, prompt_config, tokenizer)
    assert kinds(some) == ["bos_hint"]
    assert "add_special_tokens=False" in some[0].message


def test_a_start_that_is_forced_twice(found, prompt_config):
    prompt, some = found([OPEN], "opens-thought", thinking(prompt_config))
    assert kinds(some) == ["doubled_start"]
    assert "set forced_think_start to" in some[0].message
    assert prompt.text[slice(*some[0].span)] == "<think>\n<think>"
    prompt, some = found([OPEN], "opens-thought")
    assert kinds(some) == ["open_thought"]
    assert prompt.text[slice(*some[0].span)] == "<think>\n<answer>"


def test_a_response_that_ends_like_the_forced_start_is_none(found, prompt_config):
    config = prompt_config.model_copy(update={"history_response": "raw"})
    assert found([turn("<answer><answer>")], config=config)[1] == []


@pytest.mark.parametrize(
    ("history", "words", "inside"),
    [
        ([turn("a<|im_end|>b"), OPEN], "The response of turn 1 holds <|im_end|>, which", "a"),
        (
            [turn("<|im_start|>x<|im_end|>"), OPEN],
            "holds <|im_start|> and 1 more such token, which",
            "",
        ),
        ([OPEN | {"state": "#<|im_end|>#"}], "The state of turn 1 holds <|im_end|>", "#"),
    ],
)
def test_a_control_token_inside(found, history, words, inside):
    prompt, some = found(history)
    assert kinds(some) == ["control_inside"]
    assert words in some[0].message
    start, end = some[0].span
    assert prompt.text[start:end] in ("<|im_end|>", "<|im_start|>")
    assert prompt.text[:start].endswith(inside)


def test_a_tokenizer_that_rewrites(with_template, prompt_config):
    tokenizer = with_template(None)
    tokenizer._tokenizer.normalizer = normalizers.NFC()
    config = prompt_config.model_copy(update={"system_prompt": "cafe\u0301"})
    prompt = render_prompt(format_messages(config, [OPEN]), tokenizer, config)
    (lint,) = lints(prompt, config, tokenizer)
    assert lint.kind == "rewritten"
    assert prompt.text[lint.span[0] :].startswith("e\u0301")
    assert "reads as 'é'" in lint.message
    # Every character still belongs to a token.
    ends = [0, *(end for _, end in prompt.offsets)]
    assert all(start <= end for (start, _), end in zip(prompt.offsets, ends, strict=False))


@pytest.mark.parametrize(
    ("of_limit", "kind", "words"),
    [
        (0, None, None),
        (lambda n: 2 * n, None, None),
        (lambda n: n + 1, "near_context", "leaves 1 for the answer"),
        (lambda n: n, "near_context", "leaves 0 for the answer"),
        (lambda n: n - 7, "over_context", "the last 7 are more than it was made for"),
    ],
)
def test_the_context_length(found, of_limit, kind, words):
    prompt, _ = found([OPEN])
    limit = of_limit(len(prompt.token_ids)) if of_limit else None
    _, some = found([OPEN], context_length=limit)
    assert kinds(some) == ([kind] if kind else [])
    if kind:
        assert words in some[0].message
    if kind == "over_context":
        assert some[0].span == (prompt.offsets[-7][0], len(prompt.text))


def test_the_tokenizers_own_context_length(with_template, prompt_config):
    tokenizer = with_template(None)
    tokenizer.model_max_length = 100
    prompt = render_prompt(format_messages(prompt_config, [OPEN]), tokenizer, prompt_config)
    assert kinds(lints(prompt, prompt_config, tokenizer)) == ["over_context"]
    assert lints(prompt, prompt_config, tokenizer, context_length=4096) == []


def test_drift(found, tokenizer):
    end = [tokenizer.eos_token_id]
    same = tokenizer("Right</answer>")["input_ids"] + end
    other = [i for letter in "Right</answer>" for i in tokenizer(letter)["input_ids"]] + end
    raw = "<answer>Right</answer>"
    history = [turn(raw)] * 3 + [OPEN]
    assert found(history, sampled=[((), "typed"), (same, raw), (same, raw)])[1] == []
    _, some = found(history, sampled=[(other, raw), ((), ""), (other, raw)])
    assert kinds(some) == ["drift"]
    assert "The response of turns 1, 3 has other token ids" in some[0].message


def test_a_start_that_joins_with_the_answer_drifts(found, tokenizer, prompt_config):
    """`<answer>` and `\\n` are sampled one after another; `>\\n` is encoded as one token."""
    ids = tokenizer("\nUp</answer>")["input_ids"]
    raw = "<answer>\nUp</answer>"
    joined = tokenizer(raw)["input_ids"] != tokenizer("<answer>")["input_ids"] + ids
    _, some = found([turn(raw), OPEN], sampled=[(ids, raw)])
    assert kinds(some) == (["drift"] if joined else [])


def test_every_message_says_what_to_do(found, prompt_config):
    config = thinking(prompt_config).model_copy(update={"system_prompt": "a <|im_end|>"})
    history = [THOUGHT, turn("x <|im_start|>"), OPEN]
    some = [
        *found(history, "drops-thoughts", config, context_length=10)[1],
        *found(history, "trims", config)[1],
        *found(history, "opens-thought", config)[1],
    ]
    assert len(set(kinds(some))) >= 6
    for lint in some:
        assert lint.message[0].isupper() or lint.message[0] == "<"
        assert lint.message.endswith(".")
        assert ". " not in lint.message.replace("…", "")


def test_quick_at_a_hundred_turns(prompt_config, with_template):
    tokenizer = with_template("folds-system")
    tokenizer._tokenizer.normalizer = normalizers.NFC()
    history = [turn(state="#_X\n" * 8)] * 120 + [OPEN]
    prompt = render_prompt(format_messages(prompt_config, history), tokenizer, prompt_config)
    assert len(prompt.token_ids) > 12_000
    ids = tokenizer("Up</answer>")["input_ids"]
    sampled = [(ids, "<answer>Up</answer>")] * 120
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        lints(prompt, prompt_config, tokenizer, sampled=sampled)
        seconds.append(time.perf_counter() - start)
    print(f"lints at {len(prompt.token_ids):,} tokens: {min(seconds) * 1000:.1f} ms")
    assert min(seconds) < 0.1
