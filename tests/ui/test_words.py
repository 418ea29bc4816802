"""The Chinese table: whole, and about what the page really says."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHINESE = json.loads((ROOT / "ui/assets/zh.json").read_text(encoding="utf-8"))
SAID = ("ui/*.py", "ui/assets/*.js", "ui/assets/*.html", "ui/assets/*.md", "prompting/*.py",
        "play/*.py", "configs/*.py", "configs/*.yaml", "configs/templates/*", "configs/levels/*",
        "envs/sokoban/*.py", "agents/*.py")  # fmt: skip


@pytest.fixture(scope="module")
def words():
    """All words that may be said; sentences are put together from pieces, so words must do."""
    files = [file for pattern in SAID for file in sorted(ROOT.glob(pattern))]
    return {word for file in files for word in spoken(file.read_text(encoding="utf-8"))}


def spoken(text):
    return re.findall(r"[A-Za-z]{3,}", text)


def test_what_is_filled_in_comes_back():
    for english, chinese in CHINESE.items():
        slots = english.count("{}")
        numbered = re.findall(r"\{(\d+)\}", chinese)
        assert sorted(map(int, numbered)) == list(range(slots)) or chinese.count("{}") == slots, (
            english
        )


def test_every_entry_is_still_said(words):
    stale = {entry: set(spoken(entry)) - words for entry in CHINESE if set(spoken(entry)) - words}
    assert stale == {}
