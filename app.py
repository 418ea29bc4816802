"""Starts the page: `python app.py`. On a Hugging Face Space this file is run as it is."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import threading

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

from agents import load_model, load_tokenizer, zero
from configs import PlaygroundConfig, load_config
from errors import UserError
from ui import build_app, launch_options


def main() -> int:
    """Parse arguments, load the configs, build the page, serve it."""
    parser = argparse.ArgumentParser(description="Prompt Playground for Sokoban")
    parser.add_argument("--config", default="configs/playground.yaml", help="playground config")
    parser.add_argument("--host", default=None, help="address to listen on")
    parser.add_argument("--port", type=int, default=None, help="port to listen on")
    options = parser.parse_args()
    zero.prepare()
    gc.disable()  # until the page answers: nearly all that is made here stays
    try:
        config = load_config(options.config)
        app = build_app(config)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if zero.is_here():
        _warm_up(config)  # a model that is to borrow a GPU must be there before the launch
    app.launch(
        server_name=options.host,
        server_port=options.port,
        prevent_thread_lock=True,
        **launch_options(),
    )
    gc.enable()
    # Only now: importing torch beside the start of the server would hold the first page back.
    threading.Thread(target=_warm_up, args=(config,), daemon=True).start()
    app.block_thread()
    return 0


def _warm_up(config: PlaygroundConfig) -> None:
    """Load the first model while the page is already served; a failure shows on the page.

    The tokenizer comes first, since the first prompt waits for it.
    """
    try:
        load_tokenizer(config.models.default, config.models)
        load_model(config.models.default, config.models)
    except UserError as error:
        print(f"note: {error}", file=sys.stderr)
    gc.freeze()  # what is here now stays, and need not be searched for garbage at each turn


if __name__ == "__main__":
    sys.exit(main())
