"""Responses and what becomes of them; the golden cases are in test_golden.py."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prompting import canonical_response, complete_response, parse_response


@pytest.fixture
def thinking(prompt_config):
    return prompt_config.model_copy(update={"enable_think": True})


@pytest.mark.parametrize(
    ("raw", "action", "canonical"),
    [
        ("<answer>Right</answer>", 4, "<answer>Right</answer>"),
        ("<answer> uP\n</answer>\n", 1, "<answer>uP</answer>"),
        ("<answer>|| Left ||</answer>", 3, "<answer>|| Left ||</answer>"),
        ("<answer>Down||Up||Left</answer>", 2, "<answer>Down</answer>"),
        ("<answer>a</answer></answer>", None, "<answer>a</answer>"),
        ("<answer>Right</answer>\n\n", None, "<answer>INVALID</answer>"),
        (" <answer>Right</answer>", None, "<answer>INVALID</answer>"),
        ("", None, "<answer>INVALID</answer>"),
        ("<answer>Up Down</answer>", None, "<answer>Up Down</answer>"),
    ],
)
def test_without_thinking(prompt_config, raw, action, canonical):
    parsed = parse_response(raw, prompt_config)
    assert (parsed.action, parsed.llm_response) == (action, canonical)


@pytest.mark.parametrize(
    ("raw", "action", "canonical"),
    [
        (
            "<think>go\nup</think>\n <answer>Up</answer>",
            1,
            "<think>go\nup</think><answer>Up</answer>",
        ),
        ("<think></think><answer>Up</answer>", 1, "<think></think><answer>Up</answer>"),
        ("<think>a</think>b</think><answer>Up</answer>", 1, "<think>ab</think><answer>Up</answer>"),
        ("<answer>Up</answer>", None, "<think>INVALID</think><answer>INVALID</answer>"),
    ],
)
def test_with_thinking(thinking, raw, action, canonical):
    parsed = parse_response(raw, thinking)
    assert (parsed.action, parsed.llm_response) == (action, canonical)


@pytest.mark.parametrize(
    ("think", "raw", "problem"),
    [
        (False, "<answer>Up", "There is no </answer>: the response ends at character 10"),
        (False, "Up</answer>", "<answer> must stand at the very start, but at character 1"),
        (False, "<answer>Up</answer>.", "Nothing may follow </answer>, but at character 20"),
        (False, "<answer></answer>", "The answer is empty"),
        (False, "<answer>Jump</answer>", "'Jump' is not an action. The available actions are Up,"),
        (True, "<think>x", "There is no </think>"),
        (True, "<think>x</think> y<answer>", "<answer> must stand right after </think>, but at"),
        (True, "<think>x</think>", "<answer> must stand right after </think>, but at character 17"),
        (True, "<think>x</think><answer>Up", "There is no </answer>"),
    ],
)
def test_the_broken_rule_is_named(prompt_config, think, raw, problem):
    config = prompt_config.model_copy(update={"enable_think": think})
    assert problem in (parse_response(raw, config).problem or "")


def test_a_second_action_is_noted(prompt_config):
    parsed = parse_response("<answer>Up||Down</answer>", prompt_config)
    assert parsed.problem is None
    assert parsed.note == "2 actions were given; only the first, 'Up', counts."


@pytest.mark.parametrize(
    ("typed", "raw"),
    [
        ("Right</answer>", "<answer>Right</answer>"),
        ("<answer>Right</answer>", "<answer>Right</answer>"),
        ("", "<answer>"),
        ("<think>x", "<answer><think>x"),
    ],
)
def test_a_typed_response_may_bring_the_forced_start(prompt_config, typed, raw):
    assert complete_response(typed, prompt_config) == raw


@pytest.mark.parametrize("think", [False, True])
@pytest.mark.parametrize("action", [1, 2, 3, 4])
def test_a_key_press_reads_back_as_itself(prompt_config, action, think):
    config = prompt_config.model_copy(update={"enable_think": think})
    canonical = canonical_response(action, config)
    parsed = parse_response(canonical, config)
    assert (parsed.action, parsed.llm_response, parsed.problem) == (action, canonical, None)


@given(st.text(alphabet=st.sampled_from("<>/|answerthinkUp \n√")), st.booleans())
def test_any_response_is_data(prompt_config, raw, think):
    config = prompt_config.model_copy(update={"enable_think": think})
    parsed = parse_response(raw, config)
    assert (parsed.action is None) == (parsed.problem is not None)
    # The canonical response is one that the parser takes as it is.
    again = parse_response(parsed.llm_response, config)
    if "INVALID" not in parsed.llm_response:
        assert again.llm_response == parsed.llm_response
