"""Levels on the page: the shelf, the editor, the referee's help, moves as LURD, the address."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import ready, shown, turn, upload

pytestmark = pytest.mark.browser

CORNER = "6#|#@---#|#-$--#|#---.#|6#"


def open_tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name).click()


def test_the_address_carries_level_and_moves(page: Page, url: str):
    page.goto(f"{url}?level={quote(CORNER)}&moves=ddr")
    turn(page, 4)
    assert "#_X__#\n#_P_O#" in shown(page)
    page.keyboard.press("u")
    turn(page, 3)
    expect(page).to_have_url(re.compile(r"\?level=.*&moves=dd$"))
    page.reload()
    turn(page, 3)


def test_a_fatal_move_is_told_and_taken_back(page: Page, url: str):
    page.goto(f"{url}?level={quote(CORNER)}&moves=ddr")
    turn(page, 4)
    referee = page.locator("#pp-referee")
    expect(referee).to_contain_text("3 pushes to go.")
    page.keyboard.press("ArrowUp")
    turn(page, 5)
    expect(referee).to_contain_text("Turn 4 lost the level: a box stands where no push can bring")
    expect(page.locator("#pp-history tr[data-fatal=yes]")).to_have_attribute("data-turn", "4")
    referee.get_by_role("button", name="Undo the fatal move").click()
    turn(page, 4)
    expect(referee).to_contain_text("3 pushes to go.")


def test_hint_and_solution(page: Page):
    page.locator("#pp-referee").get_by_role("button", name="Hint").click()
    expect(page.locator("#pp-referee")).to_contain_text("Best next: Right.")
    page.get_by_role("button", name="Show solution").click()
    banner = page.locator(".pp-banner")
    expect(banner).to_contain_text("A shortest solution: move 4 of 4")
    picture = page.locator("#pp-board use[href='#sok-d']")
    expect(picture).to_have_count(1)  # the box is on its target in the film
    expect(picture).to_have_count(0)  # and the board comes back by itself
    turn(page, 1)


def test_the_shelf(page: Page):
    open_tab(page, "Levels")
    page.locator(".pp-shelf button", has_text="Two in line").click()
    expect(page.locator(".pp-level-title")).to_have_text("Two in line")
    expect(page.locator("#pp-level-text textarea")).to_have_value(re.compile("Title: Two in line"))
    expect(page.locator(".pp-shelf [aria-selected=true]")).to_contain_text("Two in line")


def test_a_collection_fills_the_shelf(page: Page, tmp_path):
    file = tmp_path / "two.sok"
    board = "#####\n#@$.#\n#####"
    file.write_text(f"One\n\n{board}\n\nTwo\n\n{board.replace('.#', ' .#')}\n", encoding="utf-8")
    open_tab(page, "Levels")
    upload(page, "Upload a file", file)
    cards = page.locator(".pp-shelf button")
    expect(cards).to_have_count(2)
    expect(cards.nth(0)).to_contain_text("1 move, 1 push")


def test_drawing_a_level(page: Page):
    open_tab(page, "Levels")
    word = page.locator(".pp-editor-word")
    canvas = page.locator(".pp-canvas")
    canvas.focus()
    for key in ["5", "ArrowDown", "ArrowDown", " "]:  # the player, two rows further down
        page.keyboard.press(key)
    expect(word).to_contain_text("A valid level: ")
    for key in ["1", " "]:  # a wall over the player
        page.keyboard.press(key)
    expect(word).to_contain_text("no player")
    turn(page, 1)  # the keys were the editor's
    for key in ["2", " ", "5", " "]:
        page.keyboard.press(key)
    expect(word).to_contain_text("A valid level: ")
    page.locator("#pp-editor button[data-editor=play]").click()
    expect(page.locator(".pp-level-title")).to_have_text("Painted")
    ready(page)


def test_moves_as_lurd(page: Page):
    open_tab(page, "Levels")
    page.locator("#pp-lurd textarea").fill("rdr")
    page.get_by_role("button", name="Play these from the start").click()
    turn(page, 4)
    page.keyboard.press("Escape")
    page.locator("#pp-board button[data-act='1']").click()
    expect(page.locator(".pp-banner")).to_have_text("Solved in 4 turns.")
    page.get_by_role("button", name="Show my moves").click()
    expect(page.locator("#pp-lurd textarea")).to_have_value("rdrU")
    page.locator("#pp-lurd textarea").fill("rdx")
    page.get_by_role("button", name="Play these from the start").click()
    expect(page.locator(".pp-banner")).to_contain_text("column 3")
