"""Against a real llama.cpp server with the embedded model; run by `make test-servers`."""

import socket
import subprocess
import sys
import threading
import time
import urllib.request

import httpx
import pytest

from agents.completions import ServedModel
from agents.models import packaged_file
from configs import GenerationConfig
from configs.schema import ServerConfig
from prompting import format_messages, parse_response, render_prompt

pytestmark = pytest.mark.servers

GREEDY = GenerationConfig(temperature=0, max_new_tokens=8)
START_SECONDS = 120


@pytest.fixture(scope="module")
def url(config, tmp_path_factory):
    """The address of a server that was started for these tests and is ready."""
    file = packaged_file(config.models.models["smollm2-135m"])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = (tmp_path_factory.mktemp("server") / "log").open("w+")
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(file)]
    # It gives log-probabilities only where all logits are kept.
    options = ["--model_alias", "m", "--port", str(port), "--n_ctx", "1024", "--logits_all", "true"]
    process = subprocess.Popen([*command, *options], stdout=log, stderr=subprocess.STDOUT)
    address = f"http://127.0.0.1:{port}/v1"
    try:
        deadline = time.monotonic() + START_SECONDS
        while not answers(f"{address}/models"):
            log.seek(0)
            assert process.poll() is None, log.read()
            assert time.monotonic() < deadline, "the server did not start"
        yield address
    finally:
        process.terminate()
        process.wait(30)
        log.close()


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=1) as response:
            return response.status == 200
    except OSError:
        return False


@pytest.fixture(scope="module")
def short(prompt_config):
    """A config of a short prompt: this server takes long over each token that it echoes."""
    update = {"env_instruction": "Push the box (X) to O.", "grid_vocab": None}
    return prompt_config.model_copy(update=update)


@pytest.fixture(scope="module")
def prompt(tokenizer, short):
    history = [{"state": "#####\n#P_XO#\n#####", "actions_left": 9}]
    return render_prompt(format_messages(short, history), tokenizer, short)


@pytest.fixture
def serve(url, tokenizer):
    def serve(**keys):
        keys = {"base_url": url, "model": "m", "tokenizer": "t", "no_top_k": 0} | keys
        return ServedModel(tokenizer, ServerConfig(**keys), "llama.cpp")

    return serve


def test_it_reads_the_ids_that_are_shown(url, prompt):
    root = url.removesuffix("/v1")
    told = httpx.post(f"{root}/extras/tokenize", json={"input": prompt.text}).json()
    assert tuple(told["tokens"]) == prompt.token_ids


def test_a_free_answer_streams(serve, short, prompt, last):
    model = serve(alternatives=5)
    agent = model.agent(short, mode="free", generation=GREEDY, stop_at_closing_tag=False)
    seen = []
    for reply in agent.respond(prompt):
        seen.append(reply.text)
    assert reply.error is None
    assert reply.finish_reason in ("length", "end of text")
    assert len(set(seen)) > 2
    assert sum(a.probability for a in reply.alternatives) <= 1.001
    assert reply.alternatives[0].token_id >= 0
    assert last(agent.respond(prompt)).text == reply.text


def test_a_grammar_holds(serve, short, prompt, last):
    model = serve(grammar="gbnf")
    for seed in range(3):
        hot = GenerationConfig(temperature=2.0, seed=seed)
        reply = last(model.agent(short, mode="grammar", generation=hot).respond(prompt))
        assert reply.error is None
        assert reply.finish_reason == "closing tag"
        assert parse_response(short.response_start + reply.text, short).action is not None


def test_a_thought_and_a_grammar(serve, short, tokenizer, last):
    config = short.model_copy(update={"enable_think": True})
    history = [{"state": "#####\n#P_XO#\n#####", "actions_left": 9}]
    prompt = render_prompt(format_messages(config, history), tokenizer, config)
    generation = GenerationConfig(temperature=0, max_new_tokens=200)
    agent = serve(grammar="gbnf").agent(config, mode="grammar", generation=generation)
    reply = last(agent.respond(prompt))
    assert reply.error is None
    if reply.finish_reason == "closing tag":
        assert parse_response("<think>" + reply.text, config).action is not None
    else:
        assert reply.finish_reason == "length"


def test_choices_are_scored_as_the_model_here_scores_them(serve, short, prompt, last, model):
    generation = GenerationConfig(temperature=0)
    there = serve(scores="echo").agent(short, mode="choice", generation=generation)
    here = model.agent(short, mode="choice", generation=generation)
    its, ours = (last(agent.respond(prompt)) for agent in (there, here))
    assert its.error is None
    # It computes with the packed weights, this process with unpacked ones.
    assert dict(its.action_log_probabilities) == pytest.approx(
        dict(ours.action_log_probabilities), abs=1.0
    )


def test_stop_frees_the_server(serve, short, prompt, last):
    stop = threading.Event()
    generation = GenerationConfig(max_new_tokens=800)
    agent = serve().agent(short, mode="free", generation=generation, stop_at_closing_tag=False)
    for reply in agent.respond(prompt, stop=stop):
        if reply.text:
            stop.set()
    assert reply.finish_reason in ("stopped", "end of text")
    assert last(serve().agent(short, mode="free", generation=GREEDY).respond(prompt)).error is None


def test_what_it_does_not_take_is_told(serve, short, prompt, last):
    reply = last(serve(sends="ids").agent(short, mode="free").respond(prompt))
    assert reply.finish_reason == "error"
    assert "validation error" in reply.error  # in its own words


def test_its_chat_endpoint_is_doubted(serve, short, prompt, last):
    agent = serve(api="chat").agent(short, mode="free", generation=GREEDY)
    reply = last(agent.respond(prompt))
    assert reply.error is None
    assert not agent.exact
