"""Spans, changes, lints, ids and exports tell the truth about four families' own templates."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from play import Episode
from play.exports import as_prompt_completion_jsonl, as_token_jsonl, loss_mask
from prompting import TemplateRefusal
from prompting.lints import lints
from prompting.spans import clean
from prompting.tokens import tokenize

pytestmark = pytest.mark.templates

VIEWS = {
    "inference": {},
    "training": {"training": True},
    "raw training": {"training": True, "raw_responses": True},
}
CONTROL = [
    "<|im_end|>", "<|im_start|>", "<|eot_id|>", "<|begin_of_text|>", "<bos>", "<end_of_turn>",
    "<start_of_turn>model", "<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>",
]  # fmt: skip
SYMBOLS = "√ 🧱 👩‍👩‍👧 中文 e\u0301 ▁ \t ‏שלום \u202e\u2028\x85"
HOSTILE_THOUGHT = "<|im_start|>assistant\nmodel <｜Assistant｜> <answer> user\n"

# name: whether thinking is on, the responses, and whether the history shows them raw.
EPISODES = {
    "answers": (False, ["Right</answer>", "Down</answer>", "Up</answer>"], False),
    "spaces": (False, ["  Right </answer>", "\n\nUp</answer>\n", " \t"], True),
    "symbols": (False, [SYMBOLS, f"{SYMBOLS}</answer>", "Up</answer>"], True),
    "thoughts": (True, ["so √ I go</think><answer>Right</answer>"] * 3, False),
    "short thoughts": (
        True,
        ["b</think><answer>Up</answer>", "</think><answer>Up</answer>"],
        False,
    ),
    "spaced thoughts": (True, [" \n a b \n</think>\n\n <answer> Up </answer>"] * 2, True),
    "thoughts like templates": (True, [HOSTILE_THOUGHT + "</think><answer>Up</answer>"] * 2, False),
    "broken thoughts": (True, ["a</think>b</think><answer>Up", "<think>", "</think>\n"], True),
    "control tokens": (False, ["".join(CONTROL), "\n".join(CONTROL), "Up</answer>"], True),
    "long": (True, ["so</think><answer>Up</answer>", "Jump"] * 40, False),
    "no turns": (False, [], False),
}


def played(config, think, responses, raw, **changes):
    changes |= {"enable_think": think, "history_response": "raw" if raw else "canonical"}
    episode = Episode.start(config.prompt.model_copy(update=changes))
    for response in responses:
        episode = episode.respond(response)
    return episode


@pytest.fixture(params=EPISODES)
def episode(request, config):
    return played(config, *EPISODES[request.param])


@pytest.fixture(params=VIEWS)
def view(request):
    return VIEWS[request.param]


def contents(messages, cleaning):
    """The messages as plain text, each piece cleaned as the prompt is."""
    return [
        message
        | {"content": "".join(clean(piece.text, cleaning) for piece in message["content"].pieces)}
        for message in messages
    ]


def expected(family, config, messages, view):
    """The text by the family's rules, and for each message where its body lies."""
    text, bodies = "", {}
    plain = [{"role": m["role"], "content": str(m["content"])} for m in messages]
    first = 2 if view.get("raw_responses") else 0
    opening = clean("".join(part for part, _ in family.parts(plain[:2])), config.cleaning)
    for part, index in family.parts(plain):
        start = len(text)
        text += clean(part, config.cleaning)
        if index is not None:
            bodies[index] = (start, len(text))
    if not view:
        text += family.opens + config.response_start
    cut = len(opening) if first else 0
    return text[cut:], {i: (a - cut, b - cut) for i, (a, b) in bodies.items() if i >= first}


def spans_of(prompt, messages):
    """By message, its spans: each origin and turn belongs to one message."""
    owner = {
        (piece.origin, piece.turn): index
        for index, message in enumerate(messages)
        for piece in message["content"].pieces
    }
    found = {}
    for span in prompt.spans:
        if span.origin not in ("template", "forced_start"):
            found.setdefault(owner[span.origin, span.turn], []).append(span)
    return found


def check(family, episode, tokenizer, view):
    """Everything that the prompt says of itself, against the family's rules."""
    config = episode.config
    messages = episode.messages(**view)
    prompt = episode.prompt(tokenizer, **view)
    text, bodies = expected(family, config, messages, view)
    assert prompt.text == text

    bounds = [0, *(span.end for span in prompt.spans)]
    assert [span.start for span in prompt.spans] == bounds[:-1]
    assert bounds[-1] == len(text)
    changes = {change.message: change for change in prompt.changes}
    assert len(changes) == len(prompt.changes)
    spans = spans_of(prompt, messages)
    for index, message in enumerate(contents(messages, config.cleaning)):
        if index in bodies:
            own = spans.pop(index, [])
            check_message(text, message["content"], bodies[index], own, changes.pop(index, None))
            check_pieces(text, own, messages[index]["content"].pieces, config.cleaning)
    assert not spans
    assert not changes
    check_tokens(prompt, tokenizer)
    return prompt


def check_message(text, content, body, spans, change):
    low, high = body
    assert all(low <= span.start and span.end <= high for span in spans), "outside its body"
    shown = "".join(text[span.start : span.end] for span in spans)
    written = text[low:high]
    lost = change.lost if change else ""
    assert woven(content, shown, lost)
    if written == content:
        assert (shown, change) == (content, None)
    elif written == content.strip():
        assert shown == written
        assert change.kind == ("trimmed" if written else "dropped")
    elif content.endswith(written):
        assert shown == written
        assert change.kind == ("changed" if written else "dropped")
        assert lost == content.removesuffix(written)
    elif change:
        gaps = template_gaps(text, body, spans)
        assert lost.strip() not in {gap.strip() for gap in gaps} - {""}, "reported lost, but there"


def template_gaps(text, body, spans):
    ends = [body[0], *(span.end for span in spans)]
    starts = [*(span.start for span in spans), body[1]]
    return [text[a:b] for a, b in zip(ends, starts, strict=True)]


def woven(content, shown, lost):
    """`content` is `shown` and `lost`, each in its order, put into one another."""
    if len(content) != len(shown) + len(lost):
        return False
    reached = {0}  # how many characters of `shown` may have been used
    for at, character in enumerate(content):
        reached = {
            after
            for used in reached
            for after, ok in (
                (used + 1, shown[used : used + 1] == character),
                (used, lost[at - used : at - used + 1] == character),
            )
            if ok
        }
    return bool(reached)


def check_pieces(text, spans, pieces, cleaning):
    for span in spans:
        own = [clean(p.text, cleaning) for p in pieces if (p.origin, p.turn) == span[2:]]
        assert any(text[span.start : span.end] in piece for piece in own)


def check_tokens(prompt, tokenizer):
    whole = tokenizer(prompt.text, add_special_tokens=False, return_offsets_mapping=True)
    ids, offsets = tokenize(tokenizer, prompt.text)
    assert (list(ids), [*map(tuple, offsets)]) == (
        whole["input_ids"], [*map(tuple, whole["offset_mapping"])]
    )  # fmt: skip
    assert prompt.token_ids == ids
    # Together the tokens show every character, and where nothing was joined they are as given.
    assert all(after[0] <= before[1] for before, after in pairwise(prompt.offsets))
    assert not prompt.offsets or prompt.offsets[-1][1] == len(prompt.text)
    assert [start for start, _ in prompt.offsets] == [start for start, _ in offsets]
    read = tokenizer.backend_tokenizer.decode(list(ids), skip_special_tokens=False)
    rewritten = "rewritten" in {lint.kind for lint in lints(prompt, CONFIG["prompt"], tokenizer)}
    assert (read != prompt.text) == rewritten
    for index in prompt.control:
        assert prompt.text[slice(*prompt.offsets[index])].strip()


CONFIG = {}


@pytest.fixture(autouse=True, scope="module")
def _shared(config):
    CONFIG["prompt"] = config.prompt


def test_spans_changes_and_ids_tell_the_truth(family, real, episode, view):
    check(family, episode, real, view)


@pytest.mark.parametrize("view", [{}, {"training": True}])
def test_a_system_text_merged_into_the_first_user_message(family, real, config, view):
    episode = played(config, False, ["Right</answer>", "Up</answer>"], False, merge_system=True)
    messages = episode.messages(**view)
    assert messages[0]["role"] == "user"
    prompt = check(family, episode, real, view)
    assert [s.origin for s in prompt.spans[:4]] == ["template", "system", "rules", "symbols"]


def test_two_user_messages_in_a_row(family, real, config):
    episode = played(config, False, ["Right</answer>", "Up</answer>"], False, merge_rewards=False)
    if family.name != "gemma3":
        check(family, episode, real, {})
        return
    with pytest.raises(TemplateRefusal, match="must alternate.*Set `merge_rewards: true`"):
        episode.prompt(real)


short = st.text(st.sampled_from("<|>\n \t√🧱中\u0301ab▁"), max_size=8)
words = st.sampled_from([*CONTROL, "<think>", "</think>", "<answer>Up</answer>", "assistant\n"])
responses = st.lists(st.lists(short | words, max_size=5).map("".join), min_size=1, max_size=3)


def test_any_response(family, real, config):
    @settings(max_examples=50, deadline=None)
    @given(think=st.booleans(), given=responses, raw=st.booleans(), view=st.sampled_from([*VIEWS]))
    def holds(think, given, raw, view):
        check(family, played(config, think, given, raw), real, VIEWS[view])

    holds()


def test_any_opening(family, real, config):
    @settings(max_examples=50, deadline=None)
    @given(system=short | words, rules=short | words, start=st.sampled_from(["", "a", "<answer>"]))
    def holds(system, rules, start):
        # Gemma's own line breaks after it would be cleaned away, which `expected` does not know.
        assume(not system.endswith("<|im_end|>"))
        texts = {"system_prompt": system, "env_instruction": rules, "forced_start": start}
        episode = played(config, False, ["a", "user"], True, **texts)
        for view in VIEWS.values():
            check(family, episode, real, view)

    holds()


# -- lints


def kinds(episode, tokenizer, **view):
    prompt = episode.prompt(tokenizer, **view)
    return {lint.kind for lint in lints(prompt, episode.config, tokenizer)}


def test_what_each_family_is_said_to_do(family, real, config):
    thoughts = played(config, *EPISODES["thoughts"])
    assert kinds(thoughts, real) == family.lints
    answers = played(config, *EPISODES["answers"])
    assert kinds(answers, real) == family.lints - {"thought_dropped"}


def test_a_bos_is_never_doubled_here_and_would_be_by_default(family, real, config):
    prompt = played(config, *EPISODES["answers"]).prompt(real)
    if family.bos is None:
        assert real(prompt.text)["input_ids"] == list(prompt.token_ids)
        return
    assert prompt.text.startswith(family.bos)
    assert prompt.token_ids.count(real.bos_token_id) == 1
    assert real(prompt.text)["input_ids"][:2] == [real.bos_token_id] * 2


def test_its_own_end_of_turn_inside_a_response(family, real, config):
    episode = played(config, False, [f"a{family.end}b", "Up</answer>"], True)
    prompt = episode.prompt(real)
    (lint,) = [x for x in lints(prompt, episode.config, real) if x.kind == "control_inside"]
    assert "The response of turn 1 holds" in lint.message
    assert prompt.text[slice(*lint.span)] == family.end


@pytest.mark.parametrize(("name", "text"), [("qwen3", "e\u0301"), ("gemma3", "a▁b")])
def test_what_a_tokenizer_rewrites(family, real, config, name, text):
    episode = played(config, False, [text, "Up</answer>"], True)
    assert ("rewritten" in kinds(episode, real)) == (family.name == name)


# -- exports


def test_a_loss_covers_each_response_and_its_end(family, real, episode):
    if not episode.turns:
        return
    prompt = episode.prompt(real, training=True)
    mask = loss_mask(prompt, real)
    text, bodies = expected(
        family, episode.config, episode.messages(training=True), {"training": True}
    )
    for start, end in [place for index, place in bodies.items() if index % 2 == 0 and index]:
        written = [s for s in prompt.spans if start <= s.start < end and s.origin == "response"]
        if not written:
            continue
        on = [i for i, o in enumerate(prompt.offsets) if written[0].start <= o[0] < end]
        closing = on[-1] + 1
        assert all(mask[i] for i in on)
        assert mask[closing]
        assert text[slice(*prompt.offsets[closing])] == family.end
        assert closing + 1 == len(mask) or not mask[closing + 1]
    answered = {span.turn for span in prompt.spans if span.origin == "response"}
    assert sum(b and not a for a, b in pairwise((False, *mask))) == len(answered)
    (line,) = [json.loads(line) for line in as_token_jsonl([episode], real).splitlines()]
    assert line["input_ids"] == list(prompt.token_ids)
    assert len(line["rewards"]) == len(answered)
    assert all(line["labels_mask"][each["token"]] for each in line["rewards"])


def test_a_completion_follows_its_prompt(family, real, config):
    episode = played(config, *EPISODES["thoughts"])
    lines = as_prompt_completion_jsonl([episode], real).splitlines()
    for line, turn in zip(map(json.loads, lines), episode.turns, strict=True):
        assert line["prompt"].endswith(family.opens + "<think>")
        assert "<think>" + line["completion"] == turn.llm_raw_response
