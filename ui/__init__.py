"""The page: Gradio is used here and in `app.py`, and nowhere else."""

from ui.layout import build_app
from ui.theme import launch_options

__all__ = ["build_app", "launch_options"]
