"""Which endings make a legal answer, and the agents that need no model."""

import io
from dataclasses import replace

import pytest

from agents import HumanAgent, RandomAgent, Reply
from agents.answers import NoLegalAnswer, answer_endings
from prompting import complete_response, parse_response


@pytest.mark.parametrize(
    ("think", "start", "text", "ending"),
    [
        (False, "<answer>", "", "Right</answer>"),
        (False, "<answer> ", "", "Right</answer>"),
        (False, "", "", "<answer>Right</answer>"),
        (False, "<ans", "", "wer>Right</answer>"),
        (False, "<answer>", "Ri", "ght</answer>"),
        (True, "<think>", "", "</think><answer>Right</answer>"),
        (True, "<think>", "a thought</thi", "nk><answer>Right</answer>"),
        (True, "<think>", "a</think>\n", "<answer>Right</answer>"),
        (True, "<think>", "a</think><answer>", "Right</answer>"),
        (True, "<think>", "a</think> b", "</think><answer>Right</answer>"),
        (True, "", "", "<think></think><answer>Right</answer>"),
        (True, "<think></think><answer>", "", "Right</answer>"),
    ],
)
def test_the_shortest_ending(prompt_config, think, start, text, ending):
    config = prompt_config.model_copy(
        update={"enable_think": think, "forced_start": start, "forced_think_start": start}
    )
    assert answer_endings(text, config)["Right"] == ending
    assert parse_response(start + text + ending, config).action == 4


@pytest.mark.parametrize(
    ("update", "words"),
    [
        ({"action_lookup": None}, "names no actions"),
        ({"forced_start": "My answer: "}, "no legal answer can begin with 'My answer: '"),
    ],
)
def test_where_no_answer_is_legal(prompt_config, update, words):
    config = prompt_config.model_copy(update=update)
    with pytest.raises(NoLegalAnswer, match=words):
        answer_endings("", config)


@pytest.mark.parametrize("think", [False, True])
@pytest.mark.parametrize("start", ["", "<answer>", "<answer> "])
def test_chance_is_legal_and_repeats(make_prompt, prompt_config, last, think, start):
    config = prompt_config.model_copy(update={"enable_think": think, "forced_start": start})
    prompts = [make_prompt(turns, config) for turns in range(1, 20)]
    replies = [last(RandomAgent(config, 7).respond(prompt)) for prompt in prompts]
    again = [last(RandomAgent(config, 7).respond(prompt)) for prompt in prompts]
    assert [r.text for r in replies] == [r.text for r in again]
    raws = [config.response_start + reply.text for reply in replies]
    assert {parse_response(raw, config).action for raw in raws} == {1, 2, 3, 4}
    assert replies[0].action_probabilities == pytest.approx(
        dict.fromkeys(["Up", "Down", "Left", "Right"], 0.25)
    )


def test_chance_without_actions_is_an_error_reply(make_prompt, prompt_config, last):
    config = prompt_config.model_copy(update={"action_lookup": None})
    reply = last(RandomAgent(config, 0).respond(make_prompt(1, config)))
    assert reply.finish_reason == "error"
    assert "names no actions" in reply.error


@pytest.mark.parametrize("think", [False, True])
@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("Up", 1), ("up ", 1), ("w", 1), ("s", 2), ("a", 3), ("d", 4), ("D", 2), ("r", 4),
        ("<answer>Left</answer>", 3), ("Left</answer>", 3), ("jump", None), ("x</answer>", None),
    ],
)  # fmt: skip
def test_a_line_from_a_person(make_prompt, prompt_config, last, line, action, think):
    config = prompt_config.model_copy(update={"enable_think": think})
    screen = io.StringIO()
    agent = HumanAgent(config, source=io.StringIO(f"\n{line}\n"), screen=screen)
    reply = last(agent.respond(make_prompt(1, config)))
    parsed = parse_response(complete_response(reply.text, config), config)
    written = "answer" in line and think  # a raw response keeps to the format by itself or not
    assert parsed.action == (None if written else action)
    assert screen.getvalue().count("Your action") == 2


def test_keys_and_letters_with_another_vocabulary(make_prompt, prompt_config, last):
    names = {1: "go north", 2: "go south", 3: "go west", 4: "go east"}
    config = prompt_config.model_copy(update={"action_lookup": names})
    for line, text in [("a", "go west</answer>"), ("g", "g"), ("GO EAST", "go east</answer>")]:
        agent = HumanAgent(config, source=io.StringIO(line), screen=io.StringIO())
        assert last(agent.respond(make_prompt(1, config))).text == text


def test_the_end_of_the_input_stops(make_prompt, prompt_config, last):
    agent = HumanAgent(prompt_config, source=io.StringIO(""), screen=io.StringIO())
    assert last(agent.respond(make_prompt())).finish_reason == "stopped"


def test_a_reply_s_numbers():
    reply = Reply(
        token_ids=(1, 2, 3), seconds=3.0, seconds_to_first=1.0,
        action_log_probabilities=(("a", -1000.0), ("b", -1000.0)),
    )  # fmt: skip
    assert reply.tokens_per_second == 1.0
    assert reply.action_probabilities == {"a": 0.5, "b": 0.5}
    assert replace(reply, forced_tokens=1).tokens_per_second == 0.5
    assert replace(reply, forced_tokens=2).tokens_per_second is None
    assert Reply().tokens_per_second is None
    assert Reply().action_probabilities == {}
    assert Reply().legal_probability is None
