"""One request after another to a model: the same ids, the same answers, and ends within a token."""

import threading

import pytest
import torch

from agents.local_model import LocalModel
from agents.produced_text import ProducedText, finished_characters
from agents.turnstile import Turnstile
from configs import GenerationConfig
from prompting import parse_response

VOCABULARIES = [
    None,
    {1: "U", 2: "D", 3: "L", 4: "R"},
    {1: "go north", 2: "go south", 3: "go west", 4: "go east", 5: "go"},
    {1: "↑ 上", 2: "🙂", 3: "été"},
]


def variant(config, **update):
    return config.model_copy(update={k: v for k, v in update.items() if v is not None})


def greedy(tokens=6, **others):
    return GenerationConfig(temperature=0, max_new_tokens=tokens, **others)


@pytest.mark.model
def test_greedy_text_is_what_transformers_generates(model, make_prompt, prompt_config, last):
    prompt = make_prompt(3)
    expected = model.model.generate(
        torch.tensor([prompt.token_ids]), do_sample=False, max_new_tokens=12
    )[0, len(prompt.token_ids) :]
    agent = model.agent(
        prompt_config, constrained=False, generation=greedy(12), stop_at_closing_tag=False
    )
    reply = last(agent.respond(prompt))
    assert list(reply.token_ids) == expected.tolist()
    assert reply.text == model.tokenizer.decode(expected, skip_special_tokens=True)


@pytest.mark.model
@pytest.mark.parametrize("think", [False, True])
@pytest.mark.parametrize("names", VOCABULARIES)
def test_a_grammar_answer_is_always_legal(model, make_prompt, prompt_config, last, think, names):
    config = variant(prompt_config, enable_think=think, action_lookup=names)
    prompt = make_prompt(1, config)
    for seed in range(1 if think else 3):
        hot = GenerationConfig(temperature=3.0, seed=seed, max_new_tokens=24)
        reply = last(model.agent(config, constrained=True, generation=hot).respond(prompt))
        assert parse_response(config.response_start + reply.text, config).action is not None
        assert reply.finish_reason == "closing tag"
        assert len(reply.token_ids) <= 40


@pytest.mark.parametrize("mode", ["grammar", "choice"])
@pytest.mark.parametrize("names", VOCABULARIES)
@pytest.mark.parametrize(
    ("think", "start"),
    [
        (False, ""), (False, "<answer> "), (False, "<answer>\n"), (False, "<ans"),
        (True, ""), (True, "<think>\n"), (True, "<thi"), (True, "<think>Well, "),
        (True, "<think></think>\n<answer>"),
    ],
)  # fmt: skip
def test_any_forced_start(tiny, make_prompt, prompt_config, last, mode, names, think, start):
    config = variant(
        prompt_config, enable_think=think, action_lookup=names,
        forced_start=start, forced_think_start=start,
    )  # fmt: skip
    prompt = make_prompt(1, config)
    for seed in range(3):
        hot = GenerationConfig(temperature=2.0, seed=seed, max_new_tokens=30)
        reply = last(tiny.agent(config, mode=mode, generation=hot).respond(prompt))
        assert reply.error is None
        raw = config.response_start + reply.text
        assert parse_response(raw, config).action is not None
        assert set(reply.action_probabilities) == set(config.action_lookup.values())


def test_a_thought_keeps_to_its_budget(tiny, make_prompt, prompt_config, last):
    config = variant(prompt_config, enable_think=True)
    for budget in (1, 12, 40):
        generation = GenerationConfig(max_new_tokens=budget)
        reply = last(tiny.agent(config, generation=generation).respond(make_prompt(1, config)))
        assert parse_response("<think>" + reply.text, config).action is not None
        assert len(reply.token_ids) <= max(budget, 9)


def test_impossible_answers_are_error_replies(tiny, make_prompt, prompt_config, last):
    config = variant(prompt_config, forced_start="My answer: ")
    for mode in ("grammar", "choice"):
        reply = last(tiny.agent(config, mode=mode).respond(make_prompt(1, config)))
        assert reply.finish_reason == "error"
        assert "My answer: " in reply.error
    free = last(tiny.agent(config, constrained=False, generation=greedy()).respond(make_prompt(1)))
    assert free.finish_reason == "length"
    assert free.action_probabilities == {}


def test_the_same_request_gets_the_same_response(tiny, make_prompt, prompt_config, last):
    state = torch.get_rng_state()
    texts = set()
    for seed in (1, 1, 2):
        generation = GenerationConfig(seed=seed, max_new_tokens=20, top_k=1000, top_p=0.9)
        agent = tiny.agent(prompt_config, constrained=False, generation=generation)
        texts.add((seed, last(agent.respond(make_prompt())).token_ids))
    assert len(texts) == 2
    assert torch.equal(torch.get_rng_state(), state)


def test_visitors_at_once_do_not_disturb_each_other(tiny, make_prompt, prompt_config, last):
    def ask(seed):
        generation = GenerationConfig(seed=seed, max_new_tokens=15)
        agent = tiny.agent(prompt_config, constrained=False, generation=generation)
        return last(agent.respond(make_prompt(1 + seed % 3))).token_ids

    alone = [ask(seed) for seed in range(6)]
    together = [()] * 6

    def visit(seed):
        together[seed] = ask(seed)

    threads = [threading.Thread(target=visit, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone
    assert len(tiny.line) == 0


def test_the_line_is_first_come_first_served():
    line = Turnstile()
    first, second, third = line.join(), line.join(), line.join()
    assert [line.ahead(ticket, 0) for ticket in (first, second, third)] == [0, 1, 2]
    line.leave(second)
    assert line.ahead(third, 0) == 1
    threading.Thread(target=line.leave, args=(first,)).start()
    assert line.ahead(third, 60) == 0


def test_waiting_shows_the_place_and_can_be_stopped(tiny, make_prompt, prompt_config, last):
    ticket = tiny.line.join()  # somebody is being served
    try:
        stop = threading.Event()
        replies = tiny.agent(prompt_config).respond(make_prompt(), stop=stop)
        while not (reply := next(replies)).place:
            pass
        assert reply.place == 1
        stop.set()
        assert last(replies).finish_reason == "stopped"
    finally:
        tiny.line.leave(ticket)


def test_stop_ends_within_a_token(tiny, make_prompt, prompt_config):
    generation = GenerationConfig(max_new_tokens=2000)
    stop = threading.Event()
    agent = tiny.agent(prompt_config, constrained=False, generation=generation)
    for reply in agent.respond(make_prompt(), stop=stop):
        if len(reply.token_ids) == 3:
            stop.set()
    assert reply.finish_reason == "stopped"
    assert 3 <= len(reply.token_ids) < 2000


def test_closing_the_iterator_ends_the_work(tiny, make_prompt, prompt_config, last):
    generation = GenerationConfig(max_new_tokens=3000)
    agent = tiny.agent(prompt_config, constrained=False, generation=generation)
    replies = agent.respond(make_prompt())
    while not next(replies).token_ids:
        pass
    replies.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "answering"]
    assert len(tiny.line) == 0
    assert last(tiny.agent(prompt_config).respond(make_prompt())).finish_reason == "closing tag"


class OneTooMany(torch.nn.Module):
    """Stands in a model's last layer's place and fails at a given call, as memory may run out."""

    def __init__(self, layer, call):
        super().__init__()
        self.layer, self.calls = layer, call

    def forward(self, *args, **kwargs):
        self.calls -= 1
        if self.calls == 0:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return self.layer(*args, **kwargs)


@pytest.mark.parametrize("call", [1, 3, 6])
def test_an_error_is_a_reply_and_the_next_request_works(
    tiny, make_prompt, prompt_config, last, call
):
    agent = tiny.agent(prompt_config, constrained=False, generation=greedy(10))
    expected = last(agent.respond(make_prompt())).token_ids
    layers = tiny.model.model.layers
    sound, layers[1] = layers[1], OneTooMany(layers[1], call)
    failed = last(agent.respond(make_prompt(2)))
    layers[1] = sound
    assert failed.finish_reason == "error"
    assert "out of memory" in failed.error
    assert last(agent.respond(make_prompt())).token_ids == expected
    assert last(agent.respond(make_prompt(2))).finish_reason == "length"


def test_a_bad_setting_is_a_reply(tiny, make_prompt, prompt_config, last):
    bad = GenerationConfig(temperature=1e-300)
    reply = last(
        tiny.agent(prompt_config, constrained=False, generation=bad).respond(make_prompt())
    )
    assert reply.finish_reason == "error"
    assert "sampling settings" in reply.error


def test_a_prompt_longer_than_the_model_reads(
    tokenizer, tiny_llama, make_prompt, prompt_config, last
):
    short = LocalModel(tokenizer, tiny_llama(positions=300), "short")
    reply = last(short.agent(prompt_config).respond(make_prompt(2)))
    assert reply.finish_reason == "error"
    assert "reads 300 at most" in reply.error


class Wants(torch.nn.Module):
    """A head that wants `ids`, one after another.

    The prompt's pass also looks along the answers; the first is Up, so its rows follow the ids.
    """

    def __init__(self, ids, vocabulary, path):
        super().__init__()
        self.ids, self.vocabulary, self.path, self.calls = ids, vocabulary, path, 0

    def forward(self, hidden):
        logits = torch.zeros(*hidden.shape[:-1], self.vocabulary)
        rows = range(min(hidden.shape[1], self.path)) if hidden.shape[1] > 1 else [0]
        for row in rows:
            logits[:, row, self.ids[self.calls % len(self.ids)]] = 50.0
            self.calls += 1
        return logits


@pytest.mark.parametrize(
    ("wanted", "stop_at_closing_tag", "text", "reason"),
    [
        ("Up</answer> and more", True, "Up</answer>", "closing tag"),
        ("Up</answer> and more", False, "Up</answer> and more", "length"),
        ("Up</answer><|im_end|>", False, "Up</answer>", "end of text"),
        ("Up<|im_end|>", True, "Up", "end of text"),
    ],
)
def test_where_a_free_text_ends(
    tiny, tokenizer, make_prompt, prompt_config, last, wanted, stop_at_closing_tag, text, reason
):
    ids = tokenizer(wanted, add_special_tokens=False)["input_ids"]
    path = len(tokenizer("Up</answer>", add_special_tokens=False)["input_ids"])
    prompt = make_prompt()
    tiny.model.lm_head = Wants(ids, len(tokenizer), path)
    agent = tiny.agent(
        prompt_config,
        constrained=False,
        generation=greedy(len(ids)),
        stop_at_closing_tag=stop_at_closing_tag,
    )
    reply = last(agent.respond(prompt))
    assert reply.finish_reason == reason
    assert reply.text == text
    assert reply.token_ids == tuple(ids[: len(reply.token_ids)])


def test_text_never_breaks_a_character(tokenizer):
    text = "a🙂√推箱子é b"
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    produced = ProducedText(tokenizer, tokenizer("<answer>", add_special_tokens=False)["input_ids"])
    shown = [finished_characters(produced.decode(ids[:n])) for n in range(len(ids) + 1)]
    assert all(text.startswith(part) for part in shown)
    assert shown[-1] == text
    assert len(set(shown)) < len(shown)  # some token brought only a part of a character


def test_forced_tokens_have_no_speed(tiny, make_prompt, prompt_config, last):
    for mode in ("grammar", "choice"):
        reply = last(
            tiny.agent(prompt_config, mode=mode, generation=greedy()).respond(make_prompt())
        )
        assert len(reply.token_ids) - 1 <= reply.forced_tokens <= len(reply.token_ids)
        assert reply.tokens_per_second is None
    free = last(
        tiny.agent(prompt_config, constrained=False, generation=greedy()).respond(make_prompt())
    )
    assert free.forced_tokens == 0
    assert free.tokens_per_second > 0
