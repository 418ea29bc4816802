"""The number format that is chosen, limits from the config, and a GPU that is lent."""

import os
import subprocess
import sys
import textwrap
import threading

import pytest
import torch

from agents import load_model
from agents.decoding import Request
from agents.dtypes import choose, fastest
from agents.prefixes import PrefixStore
from configs import GenerationConfig, ModelConfig, ModelsConfig


@pytest.fixture
def saved(tmp_path, tokenizer, tiny_llama):
    tokenizer.save_pretrained(tmp_path)
    tiny_llama().save_pretrained(tmp_path)
    return tmp_path


def models_at(folder, dtype="float32", **limits):
    entry = ModelConfig(label="It", path=str(folder), dtype=dtype)
    return ModelsConfig(default="it", models={"it": entry}, **limits)


class Biased(torch.nn.Module):
    """A head that keeps the time: a pass takes `seconds` of its dtype; maybe it answers otherwise
    in bfloat16."""

    def __init__(self, head, *, other, seconds):
        super().__init__()
        self.head, self.other, self.seconds = head, other, seconds

    def forward(self, hidden):
        logits = self.head(hidden)
        if hidden.dtype == torch.bfloat16 and self.other:
            logits[..., 5] = 1e4
        Biased.now += self.seconds[hidden.dtype]
        return logits

    now = 0.0


@pytest.mark.parametrize(
    ("other", "short", "dtype"),
    [
        (True, 0.5, torch.float32),  # quicker, but another answer
        (False, 2.0, torch.float32),  # the same answer, but slower
        (False, 0.9, torch.float32),  # hardly quicker
        (False, 0.5, torch.bfloat16),
    ],
)
def test_the_fastest_that_answers_alike(tiny_llama, other, short, dtype):
    model = tiny_llama()
    with torch.no_grad():
        model.lm_head.weight[7] *= 100  # one token wins by far, whatever is rounded
        model.lm_head.weight[9] = -model.lm_head.weight[7]
    seconds = {torch.float32: 1.0, torch.bfloat16: short}
    model.lm_head = Biased(model.lm_head, other=other, seconds=seconds)
    assert choose(model, "cpu", clock=lambda: Biased.now).dtype == dtype


def test_the_verdict_is_kept(tiny_llama, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    chosen = fastest(tiny_llama(), "a model", "cpu").dtype
    (kept,) = tmp_path.rglob("dtypes/*")
    assert kept.read_text() == str(chosen).removeprefix("torch.")
    kept.write_text("bfloat16")
    assert fastest(tiny_llama(), "a model", "cpu").dtype == torch.bfloat16
    kept.write_text("damaged")
    assert fastest(tiny_llama(), "a model", "cpu").dtype in (torch.float32, torch.bfloat16)
    assert len(list(tmp_path.rglob("dtypes/*"))) == 1


def test_auto_answers_like_float32(saved, tmp_path, monkeypatch, make_prompt, prompt_config, last):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    auto = load_model("it", models_at(saved, "auto"))
    assert auto.model.dtype in (torch.float32, torch.bfloat16)
    assert last(auto.agent(prompt_config).respond(make_prompt())).error is None


def test_memory_for_prefixes_comes_from_the_config(saved, make_prompt, prompt_config, last):
    reused = {}
    for megabytes in (0, 100):
        model = load_model("it", models_at(saved, cache_megabytes=megabytes))
        agent = model.agent(prompt_config, mode="choice")
        reused[megabytes] = [last(agent.respond(make_prompt(n))).reused_tokens for n in (1, 2)][1]
    assert reused[0] == 0
    assert reused[100] > 100


def test_time_for_an_answer_comes_from_the_config(saved, make_prompt, prompt_config, last):
    model = load_model("it", models_at(saved, seconds_per_answer=0.5))
    generation = GenerationConfig(max_new_tokens=100_000)
    agent = model.agent(
        prompt_config, mode="free", generation=generation, stop_at_closing_tag=False
    )
    model.model.generation_config.eos_token_id = None
    reply = last(agent.respond(make_prompt()))
    assert reply.finish_reason in ("time", "end of text")
    assert reply.token_ids
    reading = load_model("it", models_at(saved, seconds_per_answer=1e-9))
    reply = last(reading.agent(prompt_config).respond(make_prompt()))
    assert (reply.finish_reason, reply.token_ids) == ("time", ())


def test_the_wait_in_the_line_is_not_the_answer_s(tiny, make_prompt, prompt_config, last):
    tiny.seconds_per_answer = 60.0
    ticket = tiny.line.join()
    replies = tiny.agent(prompt_config).respond(make_prompt())
    while not next(replies).place:
        pass
    tiny.seconds_per_answer = 1e-9  # what counts is when it is served
    threading.Timer(0.01, tiny.line.leave, [ticket]).start()
    reply = last(replies)
    assert reply.finish_reason == "time"
    assert reply.seconds > 0


class StopsAt(threading.Event):
    """Set from the time on when it has been asked `times` times."""

    def __init__(self, times):
        super().__init__()
        self.left = times

    def is_set(self):
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("mode", ["free", "grammar", "choice"])
def test_stop_takes_hold_at_the_next_layer(tiny, make_prompt, prompt_config, mode, last):
    """Wherever it comes, nothing of the model's memory is spoilt: the next answer is the same."""
    generation = GenerationConfig(temperature=0, max_new_tokens=8)
    agent = tiny.agent(prompt_config, mode=mode, generation=generation, stop_at_closing_tag=False)
    prompt = make_prompt(9)
    fresh = last(agent.respond(prompt))
    tokens = []
    for times in range(40):
        tiny.prefixes = PrefixStore(tiny.model, 2**30)
        request = Request(prompt, prompt_config, mode, generation, False)
        *_, reply = tiny.work(request, StopsAt(times).is_set)
        tokens.append(len(reply.token_ids))
        if reply.finish_reason != "stopped":
            break
        again = last(agent.respond(prompt))
        assert again.token_ids == fresh.token_ids
        for (name, score), (_, expected) in zip(
            again.action_log_probabilities, fresh.action_log_probabilities, strict=True
        ):
            assert score == pytest.approx(expected, abs=1e-4), name
    assert tokens == sorted(tokens)
    assert times > 3
    assert reply.token_ids == fresh.token_ids


STAND_IN = '''
import sys
assert "torch" not in sys.modules, "torch came first"
import multiprocessing, functools, pickle

def GPU(task, *, duration):
    """Runs the generator in a forked process; what goes in and out is pickled."""
    @functools.wraps(task)
    def lent(*args):
        context = multiprocessing.get_context("fork")
        ours, its = context.Pipe()
        seconds = duration(*args)
        def run(args):
            with open(LOG, "a") as log:
                print("begin", seconds, file=log, flush=True)
                count = 0
                for reply in task(*pickle.loads(args)):
                    its.send_bytes(pickle.dumps(reply))
                    if its.recv_bytes() == b"close":
                        break
                    count += 1
                print("end", file=log, flush=True)
            its.send_bytes(b"")
        process = context.Process(target=run, args=(pickle.dumps(args),))
        process.start()
        try:
            while data := ours.recv_bytes():
                yield pickle.loads(data)
                ours.send_bytes(b"more")
        except GeneratorExit:
            ours.send_bytes(b"close")
            raise
        finally:
            process.join()
    return lent
'''

BORROWING = """
import os, sys, threading
from agents import zero
zero.prepare()
import torch
import agents
from agents import models as loading
loading._device = lambda: "cpu"  # there is no GPU to lend here
torch.set_num_threads(1)  # threads do not survive a fork
from configs import GenerationConfig, ModelConfig, ModelsConfig, load_config
from prompting import format_messages, render_prompt

entry = ModelConfig(label="It", path=sys.argv[1], dtype="float32")
models = ModelsConfig(default="it", models={"it": entry}, seconds_per_answer=33.0)
config = load_config().prompt
model = agents.load_model("it", models)
prompt = render_prompt(format_messages(config, [{"state": "#", "actions_left": 9}]),
                       model.tokenizer, config)
greedy = GenerationConfig(temperature=0, max_new_tokens=6)
for borrowed in (model.borrowed, None):
    model.borrowed = borrowed
    for mode in ("free", "grammar", "choice"):
        *_, reply = model.agent(config, mode=mode, generation=greedy).respond(prompt)
        print(mode, reply.finish_reason, reply.error, reply.text)
    if borrowed:
        stop = threading.Event()
        endless = GenerationConfig(max_new_tokens=100_000)
        agent = model.agent(config, mode="free", generation=endless)
        for reply in agent.respond(prompt, stop=stop):
            if reply.token_ids:
                stop.set()
        print("stop", reply.finish_reason)
"""


def test_a_gpu_that_is_lent(saved, tmp_path):
    """A stand-in for `spaces`: it forks, pickles, and wants to be imported before torch."""
    log = tmp_path / "log"
    (tmp_path / "spaces.py").write_text(f"LOG = {str(log)!r}\n" + textwrap.dedent(STAND_IN))
    environment = os.environ | {
        "SPACES_ZERO_GPU": "true",
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.getcwd()]),
    }
    done = subprocess.run(
        [sys.executable, "-c", BORROWING, str(saved)],
        capture_output=True, text=True, env=environment, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *lent, stopped = done.stdout.splitlines()[:4]
    own = done.stdout.splitlines()[4:]
    assert lent == own
    assert all(" None " in line for line in lent)
    assert stopped == "stop stopped"
    assert log.read_text().splitlines() == ["begin 33.0", "end"] * 4


def test_elsewhere_nothing_is_borrowed(tiny):
    code = "from agents import zero; zero.prepare(); import sys; print('spaces' in sys.modules)"
    environment = {k: v for k, v in os.environ.items() if k != "SPACES_ZERO_GPU"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.strip() == "False"
    assert tiny.borrowed is None
