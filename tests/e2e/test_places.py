"""One prompt, many views: a place is found, pointed at, kept, and leads to its token and cell."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import shown, turn

pytestmark = pytest.mark.browser


LIT = "name => [...(CSS.highlights.get(name) ?? [])].map(String)"


def lit(page: Page, name: str) -> list[str]:
    """The texts that a highlight lies on; it does not touch the text itself."""
    return page.evaluate(LIT, name)


def wait_until_lit(page: Page, name: str, texts: list[str]) -> None:
    page.wait_for_function(
        f"([name, texts]) => JSON.stringify(({LIT})(name)) === JSON.stringify(texts)",
        arg=[name, texts],
    )


def point_at(page: Page, text: str, offset: int = 0) -> None:
    """Move the pointer over the last place in the prompt where `text` stands."""
    spot = page.evaluate(
        """([text, offset]) => {
          const body = document.querySelector('#pp-prompt .pp-body');
          const at = body.textContent.lastIndexOf(text) + offset;
          const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
          let left = at;
          for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            if (left < node.length) {
              const range = new Range();
              range.setStart(node, left);
              range.setEnd(node, left + 1);
              node.parentElement.scrollIntoView({ block: 'center' });
              const box = range.getBoundingClientRect();
              return [box.x + box.width / 2, box.y + box.height / 2];
            }
            left -= node.length;
          }
        }""",
        [text, offset],
    )
    page.mouse.move(*spot)


def test_a_cell_lights_its_character(page: Page):
    page.locator("#pp-board use[data-r='2'][data-c='3']").hover()
    wait_until_lit(page, "pp-cell", ["X"])


def test_a_character_lights_its_cell_and_tells_its_token(page: Page, tokenizer):
    point_at(page, "#P_X#", 3)
    expect(page.locator("#pp-board use.pp-lit")).to_have_attribute("data-r", "2")
    expect(page.locator("#pp-board use.pp-lit")).to_have_attribute("data-c", "3")
    inspector = page.locator("#pp-prompt .pp-inspector")
    expect(inspector).to_contain_text("state · turn 1 · character")
    prompt = shown(page)
    encoded = tokenizer(prompt, add_special_tokens=False, return_offsets_mapping=True)
    at = prompt.rindex("#P_X#") + 3
    number, token = next(
        (number, token)
        for number, (token, (start, end)) in enumerate(
            zip(encoded["input_ids"], encoded["offset_mapping"], strict=True)
        )
        if start <= at < end
    )
    expect(inspector).to_contain_text(f"token {number} · id {token}")
    assert "".join(lit(page, "pp-token")) in prompt[at - 3 : at + 4]
    message = "".join(lit(page, "pp-message"))
    assert message.startswith("You are solving the Sokoban puzzle.")
    assert message.endswith("Decide the next action:\n")


def test_a_place_is_kept_in_every_view(page: Page):
    for key in ["ArrowRight", "ArrowLeft", "ArrowRight"]:
        page.keyboard.press(key)
    turn(page, 4)
    point_at(page, "You have 98 actions left", 9)
    page.mouse.down()
    page.mouse.up()
    wait_until_lit(page, "pp-picked", ["9"])
    for view in ("Tokens", "Messages", "Training", "Diff", "Text"):
        page.locator(".pp-heading").get_by_text(view, exact=True).click()
        page.wait_for_function(
            "kind => document.querySelector('#pp-prompt [data-kind]').dataset.kind === kind",
            arg=view.lower(),
        )
        wait_until_lit(page, "pp-picked", ["9"])
        page.wait_for_function(
            """() => {
              const [range] = CSS.highlights.get('pp-picked');
              const frame = document.querySelector('#pp-prompt .pp-body').getBoundingClientRect();
              const box = range.getBoundingClientRect();
              return frame.top <= box.top && box.bottom <= frame.bottom;
            }"""
        )


def test_find(page: Page):
    for key in ["ArrowRight", "ArrowLeft"]:
        page.keyboard.press(key)
    turn(page, 3)
    text = shown(page)
    field = page.locator("#pp-prompt .pp-find input")
    field.fill("REWARD:")  # whatever the case
    expect(page.locator("#pp-prompt .pp-find span")).to_have_text("1/2")
    wait_until_lit(page, "pp-found", ["Reward:", "Reward:"])
    field.press("Enter")
    expect(page.locator("#pp-prompt .pp-find span")).to_have_text("2/2")
    field.press("Enter")
    expect(page.locator("#pp-prompt .pp-find span")).to_have_text("1/2")
    field.fill("nowhere at all")
    expect(page.locator("#pp-prompt .pp-find span")).to_have_text("0/0")
    field.press("Escape")
    wait_until_lit(page, "pp-found", [])
    assert shown(page) == text


def test_a_badge_explains_itself(page: Page):
    page.locator("#pp-typed textarea").fill("<|im_end|> no")
    page.keyboard.press("Enter")
    turn(page, 2)
    page.get_by_role("tab", name="Prompt config").click()
    page.locator("#pp-config .cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("\nhistory_response: raw")
    badge = page.locator("#pp-prompt .pp-badges details", has_text="control token inside")
    expect(badge.locator("p")).to_be_hidden()
    badge.locator("summary").click()
    expect(badge.locator("p")).to_contain_text("<|im_end|>")
    page.locator("#pp-board button[data-act='4']").click()
    turn(page, 3)
    expect(badge.locator("p")).to_be_visible()  # an open one stays open
