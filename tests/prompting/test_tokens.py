"""Ids made stretch by stretch are those of a full tokenisation, whatever the text."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prompting import format_messages, render_prompt, with_sampled_ids
from prompting.tokens import control_tokens, tokenize

PIECES = [
    "<|im_start|>", "<|im_end|>", "<|im_", "end|>", "<|endoftext|>", "<repo_name>", "<think>",
    "\n", " ", "  ", "\t", "user", "Right", "√", "🧱", "é", "#__O#\n", "100", "'s", "<", ">", "|",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=30))
def test_equal_to_a_full_tokenisation(tokenizer, pieces):
    text = "".join(pieces)
    for _ in range(2):  # the second time from what was kept
        ids, offsets = tokenize(tokenizer, text)
        full = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        assert list(ids) == full["input_ids"]
        assert list(offsets) == [tuple(pair) for pair in full["offset_mapping"]]


def test_tokens_added_later_count(tokenizer):
    other = copy.deepcopy(tokenizer)
    before, _ = tokenize(other, "a<board>b")
    other.add_tokens(["<board>"])
    after, _ = tokenize(other, "a<board>b")
    assert len(after) == 3 < len(before)
    assert control_tokens(other, after) == (1,)


@pytest.mark.parametrize("options", [{"lstrip": True}, {"rstrip": True}, {"normalized": True}])
def test_tokens_that_do_more_than_match(tokenizer, options):
    from transformers import AddedToken

    other = copy.deepcopy(tokenizer)
    other.add_tokens([AddedToken("<wide>", **options)])
    text = "a <wide> b<|im_end|>\n<wide>c"
    full = other(text, add_special_tokens=False)["input_ids"]
    assert list(tokenize(other, text)[0]) == full


def test_a_prompt_can_go_on_from_the_sampled_ids(prompt_config, tokenizer):
    """`Ri` + `ght` reads as `Right`, but encoding the text anew gives one token."""
    state = {"state": "#P_", "actions_left": 9}
    before = render_prompt(format_messages(prompt_config, [state]), tokenizer, prompt_config)
    text = "Right</answer>"
    ids = [*tokenizer.encode("Ri"), *tokenizer.encode("ght"), *tokenizer.encode("</answer>")]
    assert tokenizer.decode(ids) == text
    assert ids != tokenizer.encode(text)
    answered = state | {
        "llm_response": f"<answer>{text}",
        "llm_raw_response": f"<answer>{text}",
        "reward": -0.1,
    }
    history = [answered, state]
    after = render_prompt(format_messages(prompt_config, history), tokenizer, prompt_config)
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    kept = with_sampled_ids(after, before, [*ids, end], text, tokenizer)
    start = len(before.token_ids)
    assert kept.text == after.text
    assert list(kept.token_ids[: start + len(ids)]) == [*before.token_ids, *ids]
    assert tokenizer.decode(kept.token_ids) == after.text
    pieces = [after.text[a:b] for a, b in kept.offsets[start : start + len(ids)]]
    assert "".join(pieces) == text
    assert pieces[:2] == ["R", "i"]
    assert len(kept.offsets) == len(kept.token_ids) > len(after.token_ids)
    # A response that the history shows otherwise has no sampled ids.
    assert with_sampled_ids(after, before, ids, "Left</answer>", tokenizer) is after
