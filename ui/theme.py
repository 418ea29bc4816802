"""How the page looks: fonts and colours of the Gradio theme, and our style sheet.

System fonts only, so that the page needs no network to look right.
"""

from __future__ import annotations

from typing import Any

import gradio as gr

from envs.sokoban.tiles import DARK, LIGHT
from ui.components import asset
from ui.words import words

_SANS = [
    "ui-sans-serif",
    "system-ui",
    "-apple-system",
    "Segoe UI",
    "Roboto",
    "Noto Sans",
    "sans-serif",
]
_MONO = ["ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "Liberation Mono", "monospace"]


def launch_options() -> dict[str, Any]:
    """What belongs to `Blocks.launch` in Gradio 6: theme, style sheet, and no footprints."""
    theme = gr.themes.Base(
        primary_hue="indigo",
        neutral_hue="slate",
        font=_SANS,
        font_mono=_MONO,
        radius_size="md",
        spacing_size="sm",
    ).set(  # white on the theme's own 500 would be a little too pale to read
        button_primary_background_fill="*primary_600",
        button_primary_background_fill_dark="*primary_600",
        button_primary_background_fill_hover="*primary_700",
    )
    return {
        "theme": theme,
        "i18n": words(),
        "css": asset("style.css") + _tiles(),
        "run_history": False,  # it would keep every prompt of a visitor in the browser
        "share": False,
        "ssr_mode": False,  # Spaces would render on a server that knows no clipboard or pointer
        "footer_links": [],
    }


def _tiles() -> str:
    """The board's two palettes, for the picture and its thumbnails."""
    return "".join(
        f"{where} {{ {'; '.join(f'{name}: {colour}' for name, colour in palette.items())} }}\n"
        for where, palette in ((":root", LIGHT), (".dark", DARK))
    )
