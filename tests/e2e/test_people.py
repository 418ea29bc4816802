"""For all people: two languages, a keyboard, a screen reader, enough contrast."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import ready, turn

pytestmark = pytest.mark.browser

CHINESE = json.loads(Path("ui/assets/zh.json").read_text(encoding="utf-8"))
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
# Gradio's own: its tabs and forms stand outside of landmarks, and its headings are free.
NOT_OURS = {"region", "landmark-one-main", "page-has-heading-one", "heading-order"}
# What is visible in Latin letters on a Chinese page; what is data or a name may stay so.
LATIN = """() => {
  const left = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const at = node.parentElement;
    const data = ".pp-body, .pp-raw, .pp-odds, .pp-inspector, .cm-editor, code, footer, " +
      "textarea, script, style";
    const seen = { opacityProperty: true, visibilityProperty: true };
    if (!at || at.closest(data) || !at.checkVisibility(seen)) continue;
    const words = node.data.trim();
    if (/[A-Za-z]{3,}/.test(words) && !/[\\u4e00-\\u9fff]/.test(words)) left.push(words);
  }
  return left;
}"""
NAMES = {"Right", "Up", "Down", "Left", "Token", "YAML", "Jinja", "INVALID"}


def tabs(page: Page) -> Iterator[str]:
    """Open one tab after the other, each with all that it shows."""
    for tab in page.get_by_role("tab").all():
        tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
        if page.locator("#pp-compared").is_visible():
            expect(page.locator("#pp-compared [data-mark=only]").first).to_be_visible()
        yield tab.inner_text()


@pytest.fixture
def chinese(url: str, browser: Browser):
    page = browser.new_context(viewport={"width": 1360, "height": 900}, locale="zh-CN").new_page()
    page.goto(url)
    ready(page)
    yield page
    page.context.close()


def test_a_chinese_browser_gets_a_chinese_page(chinese: Page):
    chinese.keyboard.press("ArrowRight")
    turn(chinese, 2)
    chinese.locator("#pp-typed textarea").fill("Left")
    chinese.keyboard.press("Enter")
    turn(chinese, 3)
    expect(chinese.locator("#pp-answer .pp-details")).to_contain_text(CHINESE["Why"])
    left = set()
    for _ in tabs(chinese):
        left |= set(chinese.evaluate(LATIN))
    assert left <= NAMES


@pytest.mark.parametrize("locale", ["zh", "zh-TW", "de-DE"])
def test_other_browsers_get_a_whole_page_too(url: str, browser: Browser, locale: str):
    page = browser.new_context(locale=locale).new_page()
    page.goto(url)
    ready(page)
    wanted = CHINESE["Demos"] if locale.startswith("zh") else "Demos"
    expect(page.get_by_role("tab", name=wanted, exact=True)).to_be_visible()
    page.context.close()


def test_the_language_is_switched_and_remembered(page: Page):
    page.keyboard.press("ArrowRight")
    turn(page, 2)
    page.get_by_role("button", name="中文").click()
    expect(page.get_by_role("tab", name=CHINESE["Levels"], exact=True)).to_be_visible()
    expect(page.locator("#pp-board button[data-act=undo]")).to_have_text(CHINESE["Undo"])
    assert "Turn 2:" in page.locator("#pp-prompt .pp-body").inner_text()  # the prompt is data
    page.reload()
    ready(page)
    expect(page.locator("#pp-board button[data-act=undo]")).to_have_text(CHINESE["Undo"])
    page.get_by_role("button", name="English").click()
    expect(page.locator("#pp-board button[data-act=undo]")).to_have_text("Undo")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_that_axe_finds(url: str, browser: Browser, theme: str):
    page = browser.new_context(
        viewport={"width": 1360, "height": 900}, reduced_motion="reduce"
    ).new_page()
    page.goto(f"{url}?__theme={theme}")
    ready(page)
    page.locator("#pp-typed textarea").fill("<|im_end|> no")
    page.keyboard.press("Enter")
    turn(page, 2)
    found = []
    for tab in tabs(page):
        for wrong in Axe().run(page, options=RULES).response["violations"]:
            if wrong["id"] not in NOT_OURS:
                found += [(tab, wrong["id"], node["html"]) for node in wrong["nodes"]]
    page.context.close()
    assert found == []


def test_light_and_dark(page: Page):
    background = "() => getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.get_by_role("button", name="Light or dark").click()
    page.wait_for_function(f"light => ({background})() !== light", arg=light)


def test_the_timeline_by_keyboard(page: Page):
    for key in ["ArrowRight", "ArrowUp"]:
        page.keyboard.press(key)
    turn(page, 3)
    chips = page.locator("#pp-timeline button")
    expect(chips).to_have_count(3)
    expect(chips.nth(0)).to_have_attribute("aria-label", "Turn 1: Right, reward −0.1, valid")
    chips.nth(2).focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.locator(".pp-banner")).to_contain_text("Looking back at turn 1")
    expect(chips.nth(0)).to_have_attribute("aria-current", "true")
    chips.nth(2).click()
    expect(page.locator(".pp-banner")).not_to_contain_text("Looking back")
    turn(page, 3)  # the arrows walked along the chips and moved nobody
