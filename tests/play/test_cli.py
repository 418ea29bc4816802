"""The command line as people run it: real processes, bytes on standard output, errors in words."""

import json
import subprocess
import sys

import pytest

from play import Episode, load_episode


def run(*arguments, text=None):
    return subprocess.run(
        [sys.executable, "-m", "play", *arguments], capture_output=True, input=text, timeout=300
    )


@pytest.fixture
def played(config):
    episode = Episode.start(config)
    for move in ["Right", "Down", "Down", "Left"]:
        episode = episode.act(move)
    return episode


@pytest.mark.parametrize("view", ["inference", "training"])
def test_render_prints_exactly_the_prompt(played, tokenizer, view):
    level = "configs/levels/guide.xsb"
    done = run("render", "--moves", "RddL", "--level", level, "--view", view)
    prompt = played.prompt(tokenizer, training=view == "training")
    assert done.stdout.decode() == prompt.text
    assert (done.returncode, done.stderr) == (0, b"")


def test_render_other_views(played, tokenizer):
    messages = run("render", "--moves", "RddL", "--view", "messages")
    assert json.loads(messages.stdout) == played.messages()
    tokens = run("render", "--moves", "RddL", "--view", "tokens").stdout.decode()
    ids = [int(line.split("\t")[1]) for line in tokens.splitlines()]
    assert ids == list(played.prompt(tokenizer).token_ids)


def test_render_think(config, tokenizer):
    thinking = config.prompt.model_copy(update={"enable_think": True})
    episode = Episode.start(thinking, "guide" and config.levels["guide"]).act("Right")
    done = run("render", "--moves", "R", "--think")
    assert done.stdout.decode() == episode.prompt(tokenizer).text


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--moves", "RxL"], "--moves, column 2: 'x' is not a move"),
        (["--level", "nowhere.xsb"], "nowhere.xsb: the file cannot be read"),
        (["--prompt", "nothing"], "nothing: the file cannot be read"),
        (["--model", "nobody"], "there is no model 'nobody'"),
        (["--model", "nobody/nothing"], "nobody/nothing"),
        (["--episode", "README.md"], "README.md, line 1, column 1: this is not JSON"),
        (["--moves", "drruu"], "turn 5: the level is solved"),
        (["--config", "nowhere.yaml"], "nowhere.yaml: there is no such file"),
    ],
)
def test_mistakes_are_said_without_a_traceback(arguments, problem):
    done = run("render", *arguments)
    assert done.returncode == 2
    assert done.stdout == b""
    assert problem in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_run_random_and_save(tmp_path):
    file = tmp_path / "episode.json"
    arguments = [
        "run",
        "--agent",
        "random",
        "--turns",
        "5",
        "--agent-seed",
        "3",
        "--save",
        str(file),
    ]
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    assert "after 5 turns" in done.stdout.decode()
    episode = load_episode(file.read_text(encoding="utf-8"))
    assert len(episode.turns) == 5
    assert all(turn.prompt and turn.problem is None for turn in episode.turns)
    shown = run("render", "--episode", str(file))
    assert shown.stdout.decode().startswith(episode.turns[-1].prompt.text)
    assert run(*arguments).stdout == done.stdout


def test_run_human():
    done = run("run", "--agent", "human", text=b"Right\nd\n<answer>nonsense\n")
    output = done.stdout.decode()
    assert done.returncode == 0, done.stderr
    assert "'<answer>Right</answer>'" in output
    assert "INVALID: There is no </answer>" in output
    assert "not finished after 3 turns" in output


@pytest.mark.model
def test_run_the_model():
    done = run("run", "--agent", "llm", "--turns", "2", "--level", "guide")
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().count("valid, reward") == 2
