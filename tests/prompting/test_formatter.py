"""What the golden cases leave open: mappings and dataclasses, switches, numbers, mistakes."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prompting import Content, HistoryError, ImagePart, format_messages
from prompting.formatter import fill


@dataclass
class ATurn:
    state: str | None = None
    actions_left: int | None = None
    llm_response: str | None = None
    llm_raw_response: str | None = None
    reward: float | None = None


DONE = {
    "state": "#P_",
    "actions_left": 9,
    "llm_response": "<answer>Up</answer>",
    "llm_raw_response": "<answer> Up </answer>",
    "reward": -0.1,
}
OPEN = {"state": "#_P", "actions_left": 8}


def test_dataclass_and_mapping_give_the_same(prompt_config):
    assert format_messages(prompt_config, [ATurn(**DONE), ATurn(**OPEN)]) == format_messages(
        prompt_config, [DONE, OPEN]
    )


def test_user_and_assistant_alternate(prompt_config):
    roles = [m["role"] for m in format_messages(prompt_config, [DONE, DONE, OPEN])]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]


@pytest.mark.parametrize(
    ("views", "turns", "ending"),
    [
        ({}, [DONE, OPEN], "Decide the next action:\n"),
        ({}, [DONE], "Reward:\n-0.1\n"),
        ({"training": True}, [DONE], "<answer>Up</answer>"),
        ({"training": True}, [DONE, OPEN], "<answer>Up</answer>"),
        ({"training": True, "raw_responses": True}, [DONE], "<answer> Up </answer>"),
        ({"training": True, "raw_responses": True}, [DONE, OPEN], "Decide the next action:\n"),
        ({"raw_responses": True}, [DONE], "Reward:\n-0.1\n"),
    ],
)
def test_where_each_view_ends(prompt_config, views, turns, ending):
    assert format_messages(prompt_config, turns, **views)[-1]["content"].endswith(ending)


@pytest.mark.parametrize(
    ("reward", "text"),
    [
        (-0.1, "-0.1"),
        (10.9, "10.9"),
        (0, "0"),
        (1.0, "1.0"),
        (-0.1 - 0.2, "-0.3"),
        (-0.1 * 3, "-0.3"),
        (np.float64(-1.1), "-1.1"),
        (np.float32(0.9), "0.8999999762"),
        (np.int64(3), "3"),
    ],
)
def test_rewards_print_as_python_prints_them(prompt_config, reward, text):
    messages = format_messages(prompt_config, [DONE | {"reward": reward}])
    assert messages[-1] == {"role": "user", "content": f"Reward:\n{text}\n"}


def test_separate_rewards_stand_as_the_guide_prints_them(prompt_config):
    config = prompt_config.model_copy(update={"merge_rewards": False})
    messages = format_messages(config, [DONE, OPEN])
    assert [m["role"] for m in messages[2:]] == ["assistant", "user", "user"]
    assert messages[-2]["content"] == "Reward:\n-0.1\n"
    assert messages[-1]["content"].startswith("Turn 2:\nState:\n#_P\n")


def test_merged_system(prompt_config):
    config = prompt_config.model_copy(update={"merge_system": True})
    messages = format_messages(config, [OPEN])
    assert [m["role"] for m in messages] == ["user"]
    assert messages[0]["content"].startswith(f"{config.system_prompt}\n\n{config.env_instruction}")


def test_raw_history_by_config(prompt_config):
    config = prompt_config.model_copy(update={"history_response": "raw"})
    assert format_messages(config, [DONE])[2]["content"] == "<answer> Up </answer>"


@pytest.mark.parametrize("state", ["{reward} {state}", "", "{", "%s {0}", "${x}"])
def test_a_state_is_never_read_as_a_template(prompt_config, state):
    messages = format_messages(prompt_config, [{"state": state, "actions_left": 1}])
    assert f"State:\n{state}\nYou have 1 actions left." in messages[1]["content"]


@pytest.mark.parametrize(
    ("turn", "problem"),
    [
        ({"state": "#"}, "turn 1: the turn has a state but no actions_left"),
        ({"llm_raw_response": "x"}, "turn 1: the turn has llm_raw_response but no llm_response"),
    ],
)
def test_an_incomplete_turn_is_named(prompt_config, turn, problem):
    with pytest.raises(HistoryError, match=problem):
        format_messages(prompt_config, [turn])


def test_images_take_the_place_of_the_state(prompt_config):
    picture = np.zeros((2, 2, 3), np.uint8)
    with_image = {**DONE, "image": picture}
    messages = format_messages(prompt_config, [with_image, OPEN])
    kinds = [part["type"] for part in messages[1]["content"]]
    assert kinds == ["text", "image", "text"]
    before, image, after = messages[1]["content"]
    assert before["text"].endswith("\nTurn 1:\nState:\n")
    assert after["text"].startswith("\nYou have 9 actions left.")
    assert image == {"type": "image"}
    assert isinstance(image, ImagePart)
    assert image.image is picture
    assert messages[0]["content"] == [{"type": "text", "text": prompt_config.system_prompt}]
    # The texts are the same as without the picture, but for the state itself.
    plain = format_messages(prompt_config, [DONE, OPEN])
    texts = ["".join(p.get("text", DONE["state"]) for p in m["content"]) for m in messages]
    assert texts == [m["content"] for m in plain]


@given(st.lists(st.tuples(st.text(), st.floats(-9, 9)), max_size=5))
def test_every_character_has_an_origin(prompt_config, turns):
    history = [DONE | {"state": state, "reward": reward} for state, reward in turns]
    for message in format_messages(prompt_config, history):
        content = message["content"]
        assert isinstance(content, Content)
        assert "".join(piece.text for piece in content.pieces) == content


@given(st.text(), st.text())
def test_fill_changes_nothing_but_its_placeholders(template, value):
    assert "".join(text for _, text in fill(template, state=value)) == template.replace(
        "{state}", value
    )
