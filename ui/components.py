"""The page's own components: `gr.HTML` with a fixed skeleton, bound to values by our JavaScript.

No text of a person or a model ever goes through an HTML template: the skeletons in `assets/` hold
no placeholder, and the scripts beside them write with `textContent`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from ui.prompt_views import ORIGINS
from ui.words import say

_ASSETS = Path(__file__).parent / "assets"


def asset(name: str) -> str:
    """The text of a file in `assets/`."""
    return (_ASSETS / name).read_text(encoding="utf-8")


def packed(view: dict[str, Any] | str) -> str:
    """A view as a component of ours takes it, see `assets/shared.js`."""
    return json.dumps(view, ensure_ascii=False, separators=(",", ":"))


def packed_prompt(view: dict[str, Any]) -> str:
    """The same for a view of a prompt, see `_blocks_apart`."""
    return packed(_blocks_apart(view))


def _blocks_apart(view: dict[str, Any]) -> dict[str, Any]:
    """Each block as a string of its own, so that the page need not read those that it has."""
    return view | {"blocks": [packed(block) for block in view["blocks"]]}


def bound(
    name: str, value: Any, elem_id: str = "", *, more: Sequence[str] = (), **replacements: str
) -> gr.HTML:
    """A component from `assets/{name}.html` and `.js`, showing `value`.

    Args:
        more: further scripts of its own, run in the same scope after that.
        replacements: what stands for each placeholder of the skeleton, as HTML of ours.
    """
    skeleton = asset(f"{name}.html")
    for placeholder, html in replacements.items():
        skeleton = skeleton.replace(placeholder, html)
    return gr.HTML(
        packed(value),
        html_template=skeleton,
        js_on_load="".join(asset(f"{script}.js") for script in ("shared", name, *more)),
        apply_default_css=False,
        elem_id=f"pp-{elem_id or name}",
        elem_classes=["pp-component"],
    )


def heading(text: str) -> gr.HTML:
    """A heading in the visitor's language."""
    return gr.HTML(
        packed(""),
        html_template=f"<h2>{text}</h2>",
        js_on_load=asset("shared.js") + "onLanguage(() => {});",
    )


def prose(text: str) -> gr.Markdown:
    """A paragraph in the visitor's language."""
    return gr.Markdown(say(text), elem_classes="pp-prose")


def prompt(value: Any, elem_id: str = "", name: str = "The prompt") -> gr.HTML:
    """The exact prompt, with the legend of its colours; `name` tells it to a screen reader."""
    keys = (f'<span data-origin="{key}">{label}</span>' for key, label in ORIGINS.items())
    return bound(
        "prompt", _blocks_apart(value), elem_id, more=["places"], LEGEND="".join(keys), NAME=name
    )


def silent(name: str, value: Any) -> gr.HTML:
    """A component without a face, whose script does something with each value."""
    return gr.HTML(
        packed(value),
        html_template="<span></span>",
        js_on_load=asset("shared.js") + asset(f"{name}.js"),
        visible="hidden",
        elem_id=f"pp-{name}",
    )
