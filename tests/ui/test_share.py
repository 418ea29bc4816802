"""The address reopens what was shown, and a damaged one is told in words."""

from urllib.parse import parse_qsl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from configs import parse_prompt_config
from errors import UserError
from play import Episode
from ui.session import Session
from ui.share import address, open_address


def query(text):
    return dict(parse_qsl(text.removeprefix("?"), keep_blank_values=True))


def reopened(session, view, config):
    opened = open_address(query(address(session, view, config)), config)
    episode = Episode.start(opened.prompt_config, opened.level)
    for raw in opened.raws:
        episode = episode.respond(raw)
    return opened, episode


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["guide", "01-first-push", "12-loading-bay"]),
    st.lists(st.sampled_from("1234") | st.text(max_size=8), max_size=6),
    st.sampled_from(["sokoban", "sokoban-think", "sokoban-letters", "own"]),
    st.sampled_from(["text", "tokens", "diff"]),
    st.none() | st.text(min_size=1, max_size=20),
)
def test_everything_comes_back(config, level, answers, prompt, view, template):
    text = config.prompts.get(prompt, config.prompts["sokoban"] + "system_prompt: '√ & = ?'\n")
    episode = Episode.start(parse_prompt_config(text), config.levels[level])
    for answer in answers:
        if not episode.over:
            episode = (
                episode.act(int(answer))
                if answer in ("1", "2", "3", "4")
                else (episode.respond(answer))
            )
    session = Session(episode, config.models.default, template=template)
    opened, again = reopened(session, view, config)
    assert [turn.llm_raw_response for turn in again.turns] == [
        turn.llm_raw_response for turn in episode.turns
    ]
    assert again.history() == episode.history()
    assert again.config == episode.config
    assert (opened.view, opened.template) == (view, template)


def test_what_the_page_opens_with_needs_no_query(config):
    assert address(Session(Episode.start(config), config.models.default), "text", config) == ""


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"level": "####"}, "level in the link"),
        ({"moves": "rdx"}, "moves in the link"),
        ({"raw": "not base64!"}, "raw in the link: it is damaged"),
        ({"raw": "AAAA"}, "raw in the link: it is damaged"),
        ({"prompt": "zebra"}, "there is no prompt config 'zebra'"),
        ({"config": "eJwDAAAAAAE"}, "config in the link"),
        ({"template": "%"}, "template in the link: it is damaged"),
    ],
)
def test_a_damaged_address(config, asked, problem):
    with pytest.raises(UserError, match=problem):
        open_address(asked, config)


def test_a_bomb_does_not_unfold(config):
    import base64
    import zlib

    bomb = base64.urlsafe_b64encode(zlib.compress(b"a" * 50_000_000)).decode().rstrip("=")
    with pytest.raises(UserError, match="raw in the link: it is damaged"):
        open_address({"raw": bomb}, config)
