"""One JSON file shows every prompt again, byte for byte; anything else is refused in words."""

import json

import pytest

from agents import Alternative, Reply
from play import Episode, EpisodeFileError, load_episode, save_episode

REPLY = Reply(
    text="Up</answer>",
    token_ids=(1, 2, 3),
    finish_reason="closing tag",
    seconds=1.5,
    action_log_probabilities=(("Up", -0.5), ("Down", -2.0)),
    alternatives=(Alternative(5, "√", 0.25),),
)


@pytest.fixture(scope="module")
def played(config, tokenizer):
    episode = Episode.start(config)
    for raw in ["Right</answer>", "√ <|im_end|>\n{x} ‏ 🧱", "Down</answer>", "Up</answer>"]:
        episode = episode.respond(raw, prompt=episode.prompt(tokenizer), reply=REPLY)
    return episode.undo()


def test_everything_comes_back(played):
    again = load_episode(save_episode(played))
    assert again == played
    assert [turn.prompt for turn in again.turns] == [turn.prompt for turn in played.turns]
    assert again.redo() == played.redo()
    assert save_episode(again) == save_episode(played)


def test_it_goes_on_from_there(played, tokenizer):
    again = load_episode(save_episode(played))
    assert again.prompt(tokenizer) == played.prompt(tokenizer)


def test_prompts_are_stored_as_what_they_add(played, tokenizer):
    long = played
    for move in ["Left", "Right"] * 20:
        long = long.act(move, prompt=long.prompt(tokenizer))
    whole = sum(len(turn.prompt.text) for turn in long.turns)
    assert len(
        json.dumps([t["prompt"]["text"] for t in json.loads(save_episode(long))["turns"]])
    ) < (whole / 5)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda data: "", "this is not JSON"),
        (lambda data: save(data)[:-40], "this is not JSON"),
        (lambda data: "[]", "not a saved episode"),
        (lambda data: save(data | {"format": "x"}), "not a saved episode"),
        (
            lambda data: save(data | {"version": 99}),
            "its format version is 99; this playground reads 1",
        ),
        (lambda data: save(data | {"extra": 1}), "extra: .*The file is damaged"),
        (lambda data: save(data | {"level": "####"}), "level: "),
        (lambda data: save(data | {"undone": 77}), "77 of 4 turns are undone"),
        (lambda data: save(data | {"turns": [{}]}), r"turns\.0\.state"),
        (lambda data: save(data | {"prompt_config": {}}), r"prompt_config\.env_instruction"),
        (lambda data: turn(data, 1, action=9), r"turns\.1\.action"),
        (lambda data: turn(data, 1, action=1), "turn 3: its state does not follow"),
        (lambda data: turn(data, 0, state="#"), "turn 1: its state does not follow"),
        (
            lambda data: prompt(data, 1, text={"keep": 10**9, "add": ""}),
            "turn 2, prompt: text keeps",
        ),
        (lambda data: prompt(data, 3, text={"keep": 3, "add": "x"}), "spans do not cover"),
        (lambda data: prompt(data, 0, token_ids={"keep": 0, "add": ["x"]}), "turn 1, prompt"),
        (
            lambda data: prompt(data, 0, token_ids={"keep": 0, "add": [1]}),
            "one offset for each token",
        ),
        (lambda data: prompt(data, 3, control={"keep": 0, "add": [10**6]}), "none of its tokens"),
        (
            lambda data: prompt(data, 0, spans={"keep": 0, "add": [[0, 5, "hell", 0]]}),
            "turn 1, prom",
        ),
        (lambda data: "[" * 100_000, "this is not JSON"),
    ],
)
def test_a_damaged_or_foreign_file_is_refused(played, damage, problem):
    data = json.loads(save_episode(played))
    with pytest.raises(EpisodeFileError, match=problem) as caught:
        load_episode(damage(data), where="mine.json")
    assert "mine.json" in str(caught.value)
    assert caught.value.remedy


def save(data):
    return json.dumps(data)


def turn(data, index, **changes):
    data["turns"][index] |= changes
    return save(data)


def prompt(data, index, **changes):
    data["turns"][index]["prompt"] |= changes
    return save(data)
