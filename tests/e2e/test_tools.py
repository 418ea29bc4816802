"""What people tune prompts with: demos, diff, branches, templates, links, exports, the tour."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import ready, shown, turn

pytestmark = pytest.mark.browser


def open_tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name).click()


def demo(page: Page, title: str) -> None:
    open_tab(page, "Demos")
    page.locator("#pp-gallery button", has_text=title).first.click()


def test_every_demo_opens(page: Page, config):
    open_tab(page, "Demos")
    cards = page.locator("#pp-gallery button")
    expect(cards).to_have_count(len(config.scenarios))
    for index, scenario in enumerate(config.scenarios):
        cards.nth(index).click()
        turn(page, len(scenario.responses) + 1)
        chosen = page.locator(".pp-heading label:has(input:checked)")
        expect(chosen).to_have_text(scenario.view.capitalize())


def test_a_dropped_thought_is_seen_in_the_diff(page: Page):
    demo(page, "A template that drops thoughts")
    notes = page.locator("#pp-prompt .pp-notes")
    expect(notes).to_contain_text("The first break is at character")
    expect(notes).to_contain_text("Further to the right.")
    gone = page.locator("#pp-prompt [data-mark=gone]")
    assert "think>" in "".join(gone.all_inner_texts())


def test_a_refusing_template_says_what_to_set(page: Page):
    demo(page, "A template without a system role")
    expect(page.locator("#pp-prompt .pp-notes")).to_contain_text("Set `merge_system: true`")
    open_tab(page, "Prompt config")
    page.locator("#pp-config .cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("\nmerge_system: true")
    ready(page)
    assert shown(page).startswith("<|im_start|>user\nYou're a helpful assistant.")


def test_a_template_of_ones_own(page: Page):
    open_tab(page, "Chat template")
    editor = page.locator("#pp-template .cm-content")
    editor.click()
    page.keyboard.insert_text("{% for m in messages %}[{{ m.role }}]{% endfor %}")
    page.wait_for_function(
        "() => document.querySelector('#pp-prompt .pp-body').textContent === "
        "'[system][user]<answer>'"
    )
    page.keyboard.insert_text("{% endfor %}")
    expect(page.locator("#pp-prompt .pp-notes")).to_contain_text("not valid Jinja")


def test_branches_keep_the_original(page: Page):
    for key in ["ArrowRight", "ArrowDown"]:
        page.keyboard.press(key)
    turn(page, 3)
    before = shown(page)
    page.locator("#pp-history tr[data-turn='1']").click()
    page.get_by_text("Change the past").click()
    box = page.locator("#pp-past-response textarea")
    expect(box).to_have_value("<answer>Right</answer>")
    box.fill("<answer>Up</answer>")
    page.get_by_role("button", name="Answer anew").click()
    rows = page.locator("#pp-history tbody tr")
    expect(rows.nth(0)).to_contain_text("Up")
    expect(rows.nth(1)).to_contain_text("Down")
    assert "<answer>Up</answer>" in shown(page)
    branch = page.get_by_label("Branch", exact=True)
    expect(branch).to_have_value("2: turn 1 answers anew")
    page.locator(".pp-heading").get_by_text("Diff", exact=True).click()
    against = page.get_by_label("Compare with the prompt of this turn or branch")
    against.click()
    page.get_by_role("option", name="main").click()
    gone = page.locator("#pp-prompt [data-mark=gone]")
    expect(gone.first).to_be_visible()
    assert "Right" in "".join(gone.all_inner_texts())
    assert shown(page) != before
    against.click()
    page.get_by_role("option", name="2", exact=True).click()
    expect(page.locator("#pp-prompt .pp-notes")).to_contain_text("It extends the other prompt")
    page.locator(".pp-heading").get_by_text("Text", exact=True).click()
    branch.click()
    page.get_by_role("option", name="main").click()
    expect(rows.nth(0)).to_contain_text("Right")
    assert shown(page) == before


def test_compare_shows_the_other_prompt(page: Page):
    page.keyboard.press("ArrowRight")
    turn(page, 2)
    open_tab(page, "Compare")
    added = page.locator("#pp-compared [data-mark=only]")
    expect(added.first).to_be_visible()
    assert "WA.BW" in "".join(added.all_inner_texts())
    assert "#__O#" in "".join(page.locator("#pp-ours [data-mark=only]").all_inner_texts())
    expect(page.locator("#pp-table")).to_contain_text("Last response reads as")
    expect(page.locator("#pp-table tr", has_text="Optimal action")).to_contain_text("Down")
    before = page.locator("#pp-ours .pp-body").evaluate("body => body.textContent")
    assert before == shown(page)


def test_a_link_reopens_everything(page: Page, browser, url: str):
    page.locator("#pp-typed textarea").fill("√ <img src=x> no")
    page.get_by_role("button", name="Send").click()
    turn(page, 2)
    open_tab(page, "Prompt config")
    page.locator("#pp-config .cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("\nsystem_prompt: Be quick.")
    page.wait_for_function(
        "() => document.querySelector('#pp-prompt .pp-body').textContent.includes('Be quick.')"
    )
    page.get_by_text("Tokens", exact=True).click()
    page.wait_for_function("() => location.search.includes('view=tokens')")
    other = browser.new_context().new_page()
    other.goto(page.url)
    turn(other, 2)
    assert shown(other) == shown(page)
    expect(other.locator("#pp-answer .pp-raw")).to_have_text("<answer>√ <img src=x> no")
    open_tab(other, "Prompt config")
    expect(other.locator("#pp-config")).to_contain_text("Be quick.")
    other.goto(f"{url}?raw=broken&view=zebra")
    expect(other.locator(".pp-banner")).to_contain_text("raw in the link: it is damaged")
    other.context.close()


@pytest.mark.parametrize(
    ("form", "name"),
    [("Messages", "jsonl"), ("Token ids", "jsonl"), ("Prompt and completion", "jsonl"),
     ("Golden prompts", "py"), ("Animated GIF", "gif")],
)  # fmt: skip
def test_exports(page: Page, form: str, name: str):
    page.keyboard.press("ArrowRight")
    turn(page, 2)
    open_tab(page, "Save and share")
    page.get_by_label("Export as").click()
    page.get_by_role("option", name=re.compile(form)).click()
    with page.expect_download() as download:
        page.locator("#pp-export").click()
    file = Path(download.value.path()).read_bytes()
    assert download.value.suggested_filename.endswith(f".{name}")
    if name == "jsonl":
        assert all(json.loads(line) for line in file.decode().splitlines())
    elif name == "gif":
        assert file.startswith(b"GIF89a")
    else:
        compile(file, "test_prompts.py", "exec")


def test_the_tour(page: Page):
    expect(page.locator(".pp-hint")).to_be_visible()
    page.get_by_role("button", name="Take the tour").click()
    expect(page.locator(".pp-hint")).to_be_hidden()
    step = page.get_by_role("dialog")
    expect(step).to_contain_text("The board (1 of 8)")
    for _ in range(8):
        step.locator("button[data-tour=next]").click()
    expect(step).to_be_hidden()
    page.reload()
    ready(page)
    expect(page.locator(".pp-hint")).to_be_hidden()


def test_the_models_seat(page: Page):
    page.get_by_role("button", name="Hide the board").click()
    expect(page.locator("#pp-board .pp-picture")).to_be_hidden()
    page.locator("#pp-typed textarea").fill("Down</answer>")
    page.keyboard.press("Enter")
    turn(page, 2)
    page.get_by_role("button", name="Show the board").click()
    expect(page.locator("#pp-board .pp-picture")).to_be_visible()


@pytest.mark.model
def test_auto_play_and_next_level(page: Page):
    page.locator(".pp-turns input").fill("3")
    page.get_by_role("button", name="Auto").click()
    turn(page, 4, timeout=180_000)
    expect(page.locator("#pp-board button[data-do=auto]")).to_have_text("Auto")
    expect(page.locator("#pp-history tbody tr")).to_have_count(3)
    page.locator("#pp-board .pp-board").focus()
    page.keyboard.press("n")
    expect(page.locator(".pp-level-title")).to_have_text("7x7, 2 boxes, seed 2")
