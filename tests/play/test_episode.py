"""The episode value: the loop from a response to the next prompt, and every way to make another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from configs import parse_prompt_config
from envs.sokoban import EpisodeOver, LevelError, VocabularyError, parse_level
from errors import UserError
from play import Episode

GUIDE = "#####\n#__O#\n#P_X#\n#___#\n#####"
SOLUTION = ["Down", "Right", "Right", "Up"]


@pytest.fixture
def episode(config):
    return Episode.start(config)


def play(episode, moves):
    for move in moves:
        episode = episode.act(move)
    return episode


def test_the_guides_own_example(episode, tokenizer):
    first = episode.prompt(tokenizer)
    assert f"State:\n{GUIDE}\nYou have 100 actions left." in first.text
    after = episode.respond("<answer>Right</answer>", prompt=first)
    turn = after.turns[0]
    assert (turn.reward, turn.action, turn.problem, turn.prompt) == (-0.1, 4, None, first)
    second = after.prompt(tokenizer)
    assert second.text.startswith(first.text)
    assert (
        "<answer>Right</answer><|im_end|><|im_start|>user\nReward:\n-0.1\n\nTurn 2:" in second.text
    )
    assert "#_PX#" in second.text
    assert "You have 99 actions left." in second.text


def test_solving_ends_the_episode(episode, tokenizer):
    done = play(episode, SOLUTION)
    assert [turn.reward for turn in done.turns] == [-0.1, -0.1, -0.1, 10.9]
    assert (done.solved, done.over, done.total_reward) == (True, True, 10.6)
    assert len(done.history()) == 4
    with pytest.raises(EpisodeOver, match="turn 5: the level is solved"):
        done.act("Up")
    assert done.prompt(tokenizer, training=True).text.endswith("<answer>Up</answer><|im_end|>")


def test_the_last_allowed_action_truncates(config):
    limited = config.prompt.model_copy(update={"max_actions_per_traj": 2})
    episode = play(Episode.start(limited, GUIDE), ["Up", "Up"])
    assert (episode.over, episode.solved, episode.actions_left) == (True, False, 0)
    with pytest.raises(EpisodeOver, match="no actions are left"):
        episode.act("Up")


@pytest.mark.parametrize("raw", ["", "Right", "<answer>Jump</answer>", "<answer>\x00</answer>"])
def test_an_invalid_response_is_a_turn(config, raw):
    harsh = config.prompt.model_copy(update={"format_penalty": -0.2})
    before = Episode.start(harsh, GUIDE)
    after = before.respond(raw)
    assert after.turns[0].problem
    assert after.turns[0].reward == -0.3
    assert after.board == before.board
    assert after.actions_left == 99


def test_half_a_character_is_refused(episode):
    with pytest.raises(UserError, match="half a character"):
        episode.respond("Right\ud800</answer>")


def test_thinking_key_presses_have_an_empty_thought(config):
    thinking = config.prompt.model_copy(update={"enable_think": True})
    turn = Episode.start(thinking, GUIDE).act("Right").turns[0]
    assert turn.llm_raw_response == "<think></think><answer>Right</answer>"


def test_another_vocabulary(config):
    letters = parse_prompt_config(config.prompts["sokoban-letters"])
    episode = Episode.start(letters, GUIDE)
    assert episode.history()[0]["state"] == "WWWWW\nW..GW\nWA.BW\nW...W\nWWWWW"


@given(st.lists(st.sampled_from(["1", "2", "3", "4", "undo", "redo", "x"]), max_size=40))
def test_undo_and_redo_restore_exactly(config, acts):
    episode = Episode.start(config)
    stack, future = [episode], []
    for act in acts:
        if act == "undo":
            episode = episode.undo()
            if len(stack) > 1:
                future.append(stack.pop())
        elif act == "redo":
            episode = episode.redo()
            if future:
                stack.append(future.pop())
        elif not episode.over:
            episode = episode.act(int(act)) if act != "x" else episode.respond("nonsense")
            stack.append(episode)
            future = []
        assert episode.turns == stack[-1].turns
        assert episode.board == stack[-1].board
        assert episode.history() == stack[-1].history()


def test_reset_can_be_taken_back(episode):
    played = play(episode, SOLUTION)
    assert played.reset().turns == ()
    assert played.reset().redo(4) == played


def test_a_config_edit_shows_the_same_moves_anew(config, episode, tokenizer):
    first = episode.prompt(tokenizer)
    played = episode.respond("<answer>Right</answer>", prompt=first)
    letters = parse_prompt_config(config.prompts["sokoban-letters"])
    edited = played.with_config(letters.model_copy(update={"max_actions_per_traj": 9}))
    assert [turn["state"].split("\n")[2] for turn in map(as_mapping, edited.history())] == [
        "WA.BW",
        "W.ABW",
    ]
    assert edited.turns[0].actions_left == 9
    assert edited.turns[0].prompt is first
    assert edited.with_config(config.prompt).history() == played.history()


def as_mapping(turn):
    return turn if isinstance(turn, dict) else vars(turn)


@pytest.mark.parametrize("level", [None, "guide", GUIDE, "#####\n#  .#\n#@ $#\n#   #\n#####"])
def test_ways_to_name_a_level(config, level):
    assert Episode.start(config, level).history()[0]["state"] == GUIDE


def test_a_seed_generates_a_level(config):
    episode = Episode.start(config, seed=3)
    assert episode.level == Episode.start(config, seed=3).level
    assert episode.level != Episode.start(config, seed=4).level
    assert episode.board.rows == config.generator.rows


@pytest.mark.parametrize(
    ("update", "error", "problem"),
    [
        (
            {"action_lookup": {7: "Jump"}},
            UserError,
            "action 7 .'Jump'. is not an action of Sokoban",
        ),
        ({"grid_vocab": {"#": "wall"}}, VocabularyError, "no symbol means empty"),
        ({"grid_vocab": {"#": "wall", "x": "wall"}}, VocabularyError, "both mean 'wall'"),
    ],
)
def test_a_config_that_does_not_fit_changes_nothing(config, episode, update, error, problem):
    with pytest.raises(error, match=problem):
        episode.with_config(config.prompt.model_copy(update=update))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"level": GUIDE, "seed": 1}, "both a level and a seed"),
        ({"level": "####\n#@@#\n####"}, "line 2, column 3"),
    ],
)
def test_what_cannot_start(config, arguments, problem):
    with pytest.raises(UserError, match=problem):
        Episode.start(config, **arguments)


def test_an_unknown_action_is_refused(episode):
    with pytest.raises(UserError, match="'Jump' is not an action. The actions are Up, Down"):
        episode.act("Jump")


def test_a_level_that_starts_solved_waits_for_its_first_turn(config):
    episode = Episode.start(config, parse_level("#####\n#@*_#\n#####"))
    assert not episode.over
    assert episode.act("Up").solved


def test_two_players_are_a_level_error(config):
    with pytest.raises(LevelError):
        Episode.start(config, "####\n#@@#\n#$.#\n####")
