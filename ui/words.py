"""What the page says, in English and in 中文, through Gradio's i18n: the English text is the key.

The labels of Gradio's own components are given as `say(...)`. Our components look up the very same
tables in the browser (`assets/shared.js`), where they also find sentences with numbers in them: a
`{}` in a key stands for what is filled in. What the table lacks is said in English.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import gradio as gr

_CHINESE: dict[str, str] = json.loads(
    (Path(__file__).parent / "assets" / "zh.json").read_text(encoding="utf-8")
)


@cache
def words() -> gr.I18n:
    """The tables, for `Blocks.launch`."""
    return gr.I18n(**{"en": {key: key for key in _CHINESE}, "zh-CN": _CHINESE})


def say(text: str) -> Any:
    """`text` as a label that follows the visitor's language; as it is where the table lacks it."""
    return words()(text) if text in _CHINESE else text
