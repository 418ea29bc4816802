"""A long episode by keyboard: every view keeps up with every key. How fast, is printed.

The figures themselves are `bench.page`'s; a test on a busy machine has no business to judge them.
"""

import pytest
from playwright.sync_api import Page

from bench.page import VIEWS, percentile, play
from tests.e2e.conftest import shown
from tests.e2e.test_page import rendered

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("view", "turns"), [("Text", 100), *((view, 15) for view in VIEWS[1:])])
def test_every_view_keeps_up_with_the_keys(page: Page, capsys, view: str, turns: int):
    page.locator(".pp-heading").get_by_text(view, exact=True).click()
    page.wait_for_function(
        "kind => document.querySelector('#pp-prompt [data-kind]').dataset.kind === kind",
        arg=view.lower(),
    )
    taken = play(page, turns)
    ends = [taken[:20], taken[-20:]]
    told = (f"{percentile(end, 0.5):.0f} ms, p95 {percentile(end, 0.95):.0f}" for end in ends)
    with capsys.disabled():
        print(f"\n{view}: a key press takes {' ms at first, '.join(told)} ms at turn {turns}")
    if view in ("Text", "Tokens"):
        assert shown(page) == rendered("--moves", ("RL" * turns)[: turns - 1])
    assert page.locator("#pp-timeline button").count() == turns
