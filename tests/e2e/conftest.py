"""The page as a visitor meets it: the real `app.py` as a process, and a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from bench.page import CHROMIUM, FLAGS, serving


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    with serving("app.py", quiet=False) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(url: str, browser: Browser) -> Iterator[Page]:
    """The page in a fresh visitor's browser; a JavaScript error fails the test."""
    context = browser.new_context(
        viewport={"width": 1360, "height": 900}, permissions=["clipboard-read", "clipboard-write"]
    )
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(url)
    ready(page)
    yield page
    context.close()
    assert errors == []


def ready(page: Page) -> None:
    """Wait until the prompt is rendered."""
    page.locator("#pp-prompt .pp-body [data-origin=forced_start]").wait_for(timeout=60_000)


def shown(page: Page) -> str:
    """The visible prompt, every character as the browser holds it."""
    text = page.locator("#pp-prompt .pp-body").evaluate("body => body.textContent")
    assert isinstance(text, str)
    return text


def upload(page: Page, button: str, file: Path) -> None:
    """Choose a file as a person does, in the dialog that the button opens."""
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=button).click()
    chooser.value.set_files(file)


def turn(page: Page, number: int, timeout: float = 30_000) -> None:
    """Wait until the page shows that this turn is to be decided."""
    page.wait_for_function(
        "n => document.querySelector('#pp-board .pp-status b')?.textContent === String(n)",
        arg=number,
        timeout=timeout,
    )
