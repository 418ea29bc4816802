"""The page: Gradio is used here and in `app.py`, and nowhere else."""

from ui.quick_start import import_gradio

import_gradio()

from ui.layout import build_app  # noqa: E402 - all of it needs Gradio
from ui.theme import launch_options  # noqa: E402

__all__ = ["build_app", "launch_options"]
