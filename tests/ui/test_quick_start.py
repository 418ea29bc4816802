"""Gradio is imported without the files that it writes for editors, and is otherwise itself."""

import subprocess
import sys
from pathlib import Path

WATCHED = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
{what}
import gradio
assert callable(gradio.Button.click) and callable(gradio.HTML.change)
print(sum(name.endswith(".pyi") for name in opened))
"""


def stubs_opened(what):
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", WATCHED.format(what=what)],
        cwd=root, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return int(done.stdout)


def test_the_page_opens_no_stub_file():
    assert stubs_opened("import gradio") > 10  # or else there is nothing left to leave out
    assert stubs_opened("import ui") == 0
