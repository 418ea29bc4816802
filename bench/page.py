"""How long a key press takes until the page shows the move, and how long the page takes to start.

    python -m bench.page [--turns 100]

A real Chromium plays to and fro on the guide's level with each view of the prompt open in turn. The
clock runs in the browser, from the key's event to the first frame in which board, timeline and
prompt all show the new turn. The start is measured twice, with and without the stub files that
Gradio writes at each import (see `ui.quick_start`).
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[1]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or "chromium"
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
VIEWS = ("Text", "Messages", "Tokens", "Diff", "Training")
EDGE = 20  # turns at each end that are summed up

# Presses a key, and resolves to the milliseconds until turn `next` is on all of the screen.
PRESS = """next => new Promise(done => {
  const start = performance.now();
  const prompt = document.querySelector('#pp-prompt .pp-body');
  const { kind } = document.querySelector('#pp-prompt [data-kind]').dataset;
  // The training view ends with the last answer; the others go on with the state to be answered.
  const left = (kind === 'training' ? 102 : 101) - next;
  const seen = () =>
    document.querySelector('#pp-board .pp-status b').textContent === String(next) &&
    document.querySelectorAll('#pp-timeline button').length === next &&
    prompt.textContent.includes(`You have ${left} actions left`);
  const watcher = new MutationObserver(() => {
    if (!seen()) return;
    watcher.disconnect();
    requestAnimationFrame(() => done(performance.now() - start));
  });
  watcher.observe(document.body, { subtree: true, childList: true, characterData: true });
  const key = next % 2 ? 'ArrowLeft' : 'ArrowRight';
  document.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
})"""


_JUDGED = """turns => {
  const rows = document.querySelectorAll('#pp-history tbody tr');
  return rows.length === turns && rows[turns - 1].children[5].textContent !== '';
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--turns", type=int, default=100, help="how long an episode is played")
    parser.add_argument("--starts", type=int, default=3, help="how often the page is started")
    options = parser.parse_args()
    quick = min(_seconds_to_start("app.py") for _ in range(options.starts))
    slow = min(_seconds_to_start("-c", _WITH_STUBS) for _ in range(options.starts))
    print(f"start until the page answers: {quick:.2f} s; with Gradio's stub files {slow:.2f} s")
    with serving("app.py") as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        print(f"{'view':10} {f'turns 2 to {EDGE + 1}':>22} {f'the last {EDGE}':>22}   x p95")
        for view in VIEWS:
            page = _opened(browser, url, view)
            first, last = _edges(play(page, options.turns))
            page.context.close()
            shown = [f"{median:6.0f} ms, p95 {p95:5.0f} ms" for median, p95 in (first, last)]
            print(f"{view:10} {shown[0]:>22} {shown[1]:>22}  {last[1] / first[1]:6.2f}", flush=True)


def play(page: Page, turns: int) -> list[float]:
    """Milliseconds of each key press, from the first move on until turn number `turns` is shown."""
    taken = []
    for turn in range(2, turns + 1):
        taken.append(page.evaluate(PRESS, turn))
        # The solver's word on the move comes after it, and is not part of it.
        page.wait_for_function(_JUDGED, arg=turn - 1)
    return taken


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[round(share * (len(values) - 1))]


def _edges(taken: list[float]) -> list[tuple[float, float]]:
    """(median, 95th percentile) of the first and of the last turns."""
    return [
        (percentile(part, 0.5), percentile(part, 0.95)) for part in (taken[:EDGE], taken[-EDGE:])
    ]


def _opened(browser: Browser, url: str, view: str) -> Page:
    page = browser.new_context(viewport={"width": 1360, "height": 900}).new_page()
    page.goto(url)
    page.locator("#pp-prompt .pp-body [data-origin=forced_start]").wait_for(timeout=120_000)
    if view == VIEWS[0]:
        # Once the model has answered, nothing is loading in the background any more.
        page.keyboard.press("l")
        page.wait_for_function(
            "() => document.querySelector('#pp-board .pp-status b').textContent === '2'",
            timeout=180_000,
        )
        page.keyboard.press("r")
        page.wait_for_function(
            "() => document.querySelector('#pp-board .pp-status b').textContent === '1'"
        )
    page.locator(".pp-heading").get_by_text(view, exact=True).click()
    page.wait_for_function(
        "kind => document.querySelector('#pp-prompt [data-kind]').dataset.kind === kind",
        arg=view.lower(),
    )
    return page


_WITH_STUBS = """
import sys, runpy
import gradio
sys.argv[0] = "app.py"
runpy.run_path("app.py", run_name="__main__")
"""


@contextmanager
def serving(*command: str, quiet: bool = True) -> Iterator[str]:
    """The page as a process of its own, `python *command`, within; its address once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = [sys.executable, *command, "--host", "127.0.0.1", "--port", str(port)]
    output = subprocess.DEVNULL if quiet else None
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    server = subprocess.Popen(arguments, cwd=ROOT, env=environment, stdout=output, stderr=output)
    address = f"http://127.0.0.1:{port}/"
    try:
        _wait_for(address, server)
        yield address
    finally:
        server.terminate()
        server.wait(timeout=20)


def _wait_for(address: str, server: subprocess.Popen[Any]) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise RuntimeError("the server ended before it answered: try `python app.py`")
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except OSError:
            continue
        return
    raise TimeoutError("the page did not answer")


def _seconds_to_start(*command: str) -> float:
    start = time.perf_counter()
    with serving(*command):
        return time.perf_counter() - start


if __name__ == "__main__":
    main()
