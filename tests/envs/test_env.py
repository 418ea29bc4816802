"""The Gymnasium environment: conformity, episode end, info, seeds, and old gym."""

import re
import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import envs.sokoban as sokoban
from envs.base import TextEnv
from envs.sokoban import ENV_ID, EpisodeOver, LevelError, SokobanEnv, Vocabulary, VocabularyError
from errors import UserError

GUIDE = "#####\n#__O#\n#P_X#\n#___#\n#####"
CORRIDOR = "#####\n#PXO#\n#####"


@pytest.mark.parametrize("observation", ["text", "grid", "rgb"])
@pytest.mark.parametrize("render_mode", [None, "ansi", "rgb_array"])
@pytest.mark.parametrize("level", [GUIDE, None])
def test_check_env(observation, render_mode, level):
    env = gymnasium.make(ENV_ID, level=level, observation=observation, render_mode=render_mode)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped, skip_render_check=render_mode is None)


def test_make_and_vector():
    env = gymnasium.make(ENV_ID, seed=7, size=(8, 9), boxes=2)
    text, _ = env.reset()
    assert [len(row) for row in text.split("\n")] == [9] * 8
    assert env.reset()[0] == text
    many = gymnasium.make_vec(ENV_ID, num_envs=3, level=GUIDE, observation="grid")
    grids, _ = many.reset(seed=1)
    assert grids.shape == (3, 5, 5)
    _, rewards, *_ = many.step(np.array([4, 4, 4]))
    assert list(rewards) == [-0.1] * 3
    many.close()


def test_the_documented_info_is_the_returned_one():
    env = SokobanEnv(GUIDE)
    documented = set(re.findall(r"`(\w+)`", SokobanEnv.__doc__.split("## Info")[1].split("##")[0]))
    _, first = env.reset()
    *_, later = env.step(4)
    assert set(first) == set(later) == documented - {"max_steps"}
    assert later["action_is_effective"] is True
    assert later["max_steps_used"] == 1


def test_success_on_the_last_allowed_step_is_termination():
    env = SokobanEnv(CORRIDOR, max_steps=1)
    env.reset()
    text, reward, terminated, truncated, info = env.step(4)
    assert (text, reward, terminated, truncated) == ("#####\n#_P√#\n#####", 10.9, True, False)
    assert info["success"] is True
    with pytest.raises(EpisodeOver, match="the episode has ended. Call reset"):
        env.step(0)


def test_running_out_of_steps_is_truncation():
    env = SokobanEnv(GUIDE, max_steps=2)
    env.reset()
    assert env.step(0)[2:4] == (False, False)
    assert env.step(0)[2:4] == (False, True)


def test_boxes_on_targets_are_counted_at_reset():
    env = SokobanEnv("######\n#P√XO#\n#____#\n######")
    _, info = env.reset()
    assert info["boxes_on_target"] == 1
    assert env.step(0)[1] == -0.1


@pytest.mark.parametrize("observation", ["text", "grid", "rgb"])
def test_the_first_observation_has_the_form_of_the_others(observation):
    env = SokobanEnv(GUIDE, observation=observation)
    first, _ = env.reset()
    later = env.step(0)[0]
    assert np.array_equal(first, later)
    assert env.observation_space.contains(first)


def test_a_level_in_the_options():
    env = SokobanEnv(GUIDE)
    assert env.reset(options={"level": CORRIDOR})[0] == CORRIDOR
    assert env.reset()[0] == GUIDE
    grid = SokobanEnv(GUIDE, observation="grid")
    with pytest.raises(LevelError, match="3 by 5, the observation space holds 5 by 5"):
        grid.reset(options={"level": CORRIDOR})


def test_seeds():
    env = SokobanEnv(size=7, boxes=2)
    one = env.reset(seed=1)[0]
    following = env.reset()[0]
    assert one != following
    assert env.reset(seed=1)[0] == one
    assert env.reset()[0] == following
    assert SokobanEnv(seed=1, size=7, boxes=2).reset()[0] == one


def test_snapshot_and_restore():
    env = SokobanEnv(GUIDE)
    env.reset()
    assert isinstance(env, TextEnv)
    before = env.snapshot()
    env.step(4)
    after = env.snapshot()
    env.restore(before)
    assert env.observe().text == GUIDE
    env.step(4)
    assert env.snapshot() == after
    assert env.observe(image=True).image.shape == (80, 80, 3)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"observation": "smell"}, "observation is 'smell'. Use 'text', 'grid' or 'rgb'"),
        ({"render_mode": "human"}, "render_mode is 'human'"),
        ({"max_steps": 0}, "max_steps is 0"),
        ({"vocabulary": "##OXPS√"}, "'#' stands for 'empty' and for 'wall'"),
        ({"vocabulary": "#_O"}, "3 symbols"),
        ({"size": 4, "boxes": 9}, "9"),
    ],
)
def test_bad_arguments(arguments, problem):
    with pytest.raises(UserError, match=re.escape(problem)):
        SokobanEnv(**arguments).reset(seed=0)


@pytest.mark.parametrize("action", [-1, 5, 99])
def test_a_bad_action(action):
    env = SokobanEnv(GUIDE)
    with pytest.raises(EpisodeOver, match="no episode has begun"):
        env.step(0)
    env.reset()
    with pytest.raises(UserError, match=f"action {action} is not there. Use 0 to 4"):
        env.step(action)


@pytest.mark.parametrize(
    ("vocab", "lookup", "symbols"),
    [
        (None, None, "#_O√XPS"),
        ({}, None, "#_O√XPS"),
        ({"a": "Wall", "b": "floor", "c": "target", "d": "box on target", "e": "box",
          "f": "player", "g": "player on target"}, None, "abcdefg"),
        ({"x": "anything"}, dict(enumerate("1234567")), "1234567"),
    ],
)  # fmt: skip
def test_vocabularies(vocab, lookup, symbols):
    assert Vocabulary.from_config(vocab, lookup).symbols == symbols


def test_a_vocabulary_that_leaves_a_gap():
    with pytest.raises(VocabularyError, match="no symbol means empty, target.*grid_lookup"):
        Vocabulary.from_config({"#": "wall"})


def test_a_symbol_of_another_vocabulary():
    with pytest.raises(LevelError, match="line 2, column 1: 'z' is not a symbol"):
        Vocabulary().read("P\nz")


def test_old_gym():
    """In a process of its own: importing old gym prints and warns, which is not ours to mend."""
    program = (
        "import gym, envs.sokoban as s\n"
        "env = gym.make(s.ENV_ID, level=%r)\n"
        "print(env.reset()[0]); print(env.step(4)[1:4]); print(type(env.action_space).__module__)"
    )
    command = [sys.executable, "-W", "ignore", "-c", program % GUIDE]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:5] == GUIDE.split("\n")
    assert "(-0.1, False, False)" in done.stdout
    assert "gym.spaces.discrete" in done.stdout


def test_the_package_says_what_it_offers():
    assert all(hasattr(sokoban, name) for name in sokoban.__all__)
