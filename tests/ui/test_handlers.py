"""The page's handlers as plain functions: whatever the browser sends, no work is lost."""

import threading

import pytest

from agents import Reply
from configs import GenerationConfig
from play import referee, save_episode
from ui import views
from ui.handlers import Handlers
from ui.prompt_views import ORIGINS, prompt_view, tokens_view
from ui.seat import Answer

GREEDY = GenerationConfig(temperature=0, max_new_tokens=20)


@pytest.fixture(scope="module")
def handlers(config):
    return Handlers(config)


@pytest.fixture
def session(handlers):
    return handlers.ready(handlers.first())[0]


def acts(step, *acts):
    return {"step": step, "acts": list(acts)}


def test_moves_keep_the_prompt_that_was_shown(handlers, session):
    after = handlers.act(session, acts(0, "4", "2"))
    first, second = after.episode.turns
    assert first.prompt is session.prompt
    assert second.prompt.text.startswith(first.prompt.text)
    assert after.prompt.text.startswith(second.prompt.text)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "4",
        {},
        {"step": 0},
        {"step": 0, "acts": "4"},
        {"step": 0, "acts": [4, "9", None, {}, "quit", "__class__"]},
        {"step": 1, "acts": ["4"]},
        {"step": "0", "acts": ["4"]},
    ],
)
def test_what_the_board_never_sends_does_nothing(handlers, session, data):
    after = handlers.act(session, data)
    assert after.episode is session.episode
    assert after.serial > session.serial


@pytest.mark.parametrize("data", [None, {}, {"turn": 9}, {"turn": 0}, {"turn": "1"}, {"turn": -1}])
def test_looking_back_at_no_turn_is_now(handlers, session, data):
    played = handlers.act(session, acts(0, "4"))
    assert handlers.look(played, data).look is None


def test_looking_back_shows_what_was_sent(handlers, session):
    played = handlers.act(session, acts(0, "4", "2"))
    back = handlers.look(played, {"turn": 1})
    shown = prompt_view(back, "text", back.seen("text", handlers.tokenizer))
    assert joined(shown) == session.prompt.text
    assert views.board_view(back)["facts"][0] == ["turn", "1"]
    assert views.answer_view(back)["who"] == "Turn 1, person"
    training = back.seen("training", handlers.tokenizer)
    assert training.text.endswith("<answer>Right</answer><|im_end|>")
    assert handlers.look(back, {"turn": 1}).look is None
    assert handlers.act(back, acts(2, "1")).look is None


def joined(shown):
    """What the page copies where the view has no text of its own."""
    assert "text" not in shown
    return "".join(part[0] for block in shown["blocks"] for part in block["parts"])


def test_every_view_joins_to_the_prompt(handlers, session):
    hostile = handlers.send(session, "√🧱 <|im_end|>\n<img src=x>")
    raw, problem = handlers.edit_config(
        hostile, handlers.config.prompts["sokoban"] + "history_response: raw\n"
    )
    assert problem == ""
    for view in ("text", "tokens", "training"):
        prompt = raw.seen(view, handlers.tokenizer)
        assert joined(prompt_view(raw, view, prompt)) == prompt.text
    for view, text in (("diff", raw.prompt.text), ("messages", raw.prompt.text)):
        assert prompt_view(raw, view, raw.prompt, session.prompt)["text"] == text
    shown = prompt_view(raw, "text", raw.prompt, lints=handlers.lints(raw, raw.prompt))
    assert ["warn", "control token inside"] in [badge[:2] for badge in shown["badges"]]
    assert any("<|im_end|>" in sentence for _, _, sentence in shown["badges"])


def test_the_tokens_know_their_places(handlers, session):
    """In UTF-16 units, as a browser counts."""
    told = handlers.send(session, "🧱 e\u0301 √ end")
    raw, _ = handlers.edit_config(
        told, handlers.config.prompts["sokoban"] + "history_response: raw\n"
    )
    view = tokens_view(raw.prompt, raw.serial)
    units = raw.prompt.text.encode("utf-16-le")
    assert view["starts"][0] == 0
    assert view["ends"][-1] == len(units) // 2
    assert view["ids"] == list(raw.prompt.token_ids)
    for start, end, place in zip(view["starts"], view["ends"], raw.prompt.offsets, strict=True):
        assert units[2 * start : 2 * end].decode("utf-16-le") == raw.prompt.text[slice(*place)]


def test_the_tokens_come_in_runs_of_one_origin(handlers, session):
    told = handlers.send(session, "🧱 e\u0301 √<|im_end|>\r\n end")
    raw, _ = handlers.edit_config(
        told, handlers.config.prompts["sokoban"] + "history_response: raw\n"
    )
    at, ids, controls = 0, [], []
    for block in prompt_view(raw, "tokens", raw.prompt)["blocks"]:
        for text, origin, turn, mark, pieces, lengths in block["parts"]:
            assert sum(lengths) == len(text)
            assert len(lengths) == len(pieces)
            span = next(span for span in raw.prompt.spans if span.end > at)
            assert (list(ORIGINS)[origin], turn) == (span.origin, span.turn)
            for piece, length in zip(pieces, lengths, strict=True):
                tokens = piece if isinstance(piece, tuple) else (piece,)
                places = raw.prompt.offsets[len(ids) : len(ids) + len(tokens)]
                assert (places[0][0], places[-1][1]) == (at, at + length)
                controls += [len(ids)] * (mark == "control")
                ids += tokens
                at += length
    assert ids == list(raw.prompt.token_ids)
    assert controls == list(raw.prompt.control)


def test_a_bad_edit_keeps_the_last_good_config(handlers, session):
    played = handlers.act(session, acts(0, "4"))
    text = handlers.config.prompts["sokoban"].replace("max_tokens: 100", "max_tokens: none")
    after, problem = handlers.edit_config(played, text)
    assert after is played
    line = text.splitlines().index("max_tokens: none") + 1
    assert f"line {line}" in problem
    assert problem.endswith(f"{line} │ max_tokens: none")


@pytest.mark.parametrize(
    ("name", "seed", "message"),
    [("generate", 1.5, "give a whole number"), ("generate", None, "give a whole number"),
     ("generate", -1, "give a whole number"), ("paste_level", "nonsense", "level"),
     ("paste_level", "####\n#@@#\n####", "line 2, column 3")],
)  # fmt: skip
def test_a_bad_level_changes_nothing(handlers, session, name, seed, message):
    played = handlers.act(session, acts(0, "4"))
    after = getattr(handlers.shelf, name)(played, seed)
    assert after.episode is played.episode
    assert message in after.message


def test_save_and_load(handlers, session, tmp_path):
    played = handlers.act(session, acts(0, "4", "2"))
    file = tmp_path / "a.json"
    file.write_text(handlers.files.save(played)["text"], encoding="utf-8")
    loaded, yaml = handlers.files.load(session, str(file))
    assert loaded.episode == referee.carry(played.episode)
    assert handlers.edit_config(loaded, yaml)[0].episode is loaded.episode
    file.write_bytes(b"\xff\xfe")
    refused, _ = handlers.files.load(played, str(file))
    assert refused.episode is played.episode
    assert "byte 0 is not UTF-8 text" in refused.message


def test_a_model_without_network_says_what_to_do(handlers, session):
    played = handlers.act(session, acts(0, "4"))
    away = handlers.choose_model(played, "qwen2.5-0.5b")
    assert away.prompt is None
    assert "smollm2-135m" in away.refusal
    assert "HF_HUB_OFFLINE" in away.refusal
    note = prompt_view(away, "text", away.seen("text", handlers.tokenizer))["notes"][0]
    assert note == ["error", away.refusal]
    assert prompt_view(away, "messages", None)["blocks"]
    moved = handlers.act(away, acts(1, "2"))
    assert moved.episode.turns[-1].prompt is None
    assert handlers.choose_model(moved, "smollm2-135m").prompt is not None


@pytest.mark.model
@pytest.mark.parametrize("mode", ["grammar", "choice", "free"])
def test_the_model_answers_the_prompt_that_is_shown(handlers, session, mode):
    begun = handlers.seat.begin(session)
    assert handlers.act(begun, acts(0, "4")).episode.turns == ()  # moves wait
    *_, (_, answer) = handlers.seat.stream(begun, mode, GREEDY, "visitor")
    done = handlers.seat.record(begun, answer)
    turn = done.episode.turns[0]
    assert turn.prompt is session.prompt
    assert turn.reply.finish_reason
    assert (turn.problem is None) or mode == "free"
    odds = views.board_view(done)["odds"]
    assert [name for name, _, _ in odds] == ["Up", "Down", "Left", "Right"]
    assert sum(p for _, p, _ in odds) == pytest.approx(1)
    assert save_episode(done.episode)


@pytest.mark.model
def test_stop_ends_the_answer_and_records_nothing(handlers, session):
    begun = handlers.seat.begin(session)
    long = GenerationConfig(temperature=1, max_new_tokens=400)
    answers = handlers.seat.stream(begun, "free", long, "visitor")
    next(answers)
    handlers.seat.stop("visitor")
    *_, (_, answer) = answers
    assert answer.reply.finish_reason == "stopped"
    done = handlers.seat.record(begun, answer)
    assert done.episode.turns == ()
    assert not done.thinking
    assert "answering" not in [thread.name for thread in threading.enumerate()]


def test_an_answer_to_another_prompt_is_not_recorded(handlers, session):
    begun = handlers.seat.begin(session)
    other = handlers.act(session, acts(0, "4")).prompt
    done = handlers.seat.record(begun, Answer(other, Reply(text="Up</answer>"), "a model"))
    assert done.episode.turns == ()
    assert "The prompt changed" in done.message


def test_no_move_while_the_episode_is_over(handlers, session):
    solved = handlers.act(session, acts(0, "2", "4", "4", "1", "1", "1"))
    assert solved.episode.solved
    assert len(solved.episode.turns) == 4
    assert views.board_view(solved)["banner"] == "Solved in 4 turns."
    assert "over" in handlers.seat.begin(solved).message
    assert handlers.send(solved, "Up</answer>").message
