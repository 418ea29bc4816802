"""What events of the page have in common: how Gradio runs them, and what is shown after one.

Handlers make sessions; an event takes its inputs, calls one, and shows the session that it made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import gradio as gr

from ui import levels, views
from ui.components import packed, packed_prompt
from ui.diff import first_break
from ui.handlers import Handlers
from ui.prompt_views import prompt_view, side_by_side
from ui.session import Session

# Every event shows its own progress; the page's components never flicker.
QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
# A move is answered at once and in order (the board sends one at a time). Past Gradio's queue, that
# takes half as long: the answer comes with the request, not on the stream of events.
PLAY: dict[str, Any] = {**QUIET, "queue": False, "trigger_mode": "multiple"}
# While one types, only the last state of the text matters.
TYPING: dict[str, Any] = {**QUIET, "queue": False, "trigger_mode": "always_last"}
# Models keep a line of their own, which is fair and tells each visitor the place in it.
MODEL: dict[str, Any] = {**QUIET, "concurrency_id": "model", "concurrency_limit": 32}
# The solver takes its time beside the moves, for two visitors at once.
JUDGE: dict[str, Any] = {
    **QUIET,
    "concurrency_id": "referee",
    "concurrency_limit": 2,
    "trigger_mode": "always_last",  # a move made meanwhile is judged as well
}

BEFORE = "−1"  # the turn before, where a diff may compare with any turn or branch


class Events:
    """The page, its handlers, and the components that nearly every event shows anew."""

    def __init__(self, page: Any, handlers: Handlers) -> None:
        self.page, self.do = page, handlers
        self.seen = [page.session, page.view, page.against]
        self.shown = [page.session, page.board, page.prompt, page.answer, page.history]
        self.shelved = dict(zip(page.shipped, page.config.levels, strict=True))

    def _show(self, session: Session, view: str, against: str | None = "0") -> tuple[Any, ...]:
        """The session and its values, in the order of `self.shown`."""
        return (
            session,
            packed(views.board_view(session)),
            self._prompt_view(session, view, against),
            packed(views.answer_view(session)),
            packed(views.history_view(session)),
        )

    def _prompt_view(self, session: Session, view: str, against: str | None) -> str:
        prompt = session.seen(view, self.do.tokenizer)
        other = session.at(against or "0", self.do.tokenizer) if view == "diff" else None
        shown = prompt_view(
            session, view, prompt, other,
            lints=self.do.lints(session, prompt) if prompt else (),
            doubt=self.do.doubt(session),
            loss=self.do.loss(session, prompt) if prompt and view == "training" else (),
            landings=self.do.landings(session, prompt) if prompt and view == "training" else (),
        )  # fmt: skip
        # The first session has not been opened yet: its address is still the visitor's.
        if session.serial:
            shown["address"] = self.do.address(session, view)
        return packed_prompt(shown)

    def _on(
        self, event: Any, handler: Callable[..., Session], inputs: Sequence[Any] = (), **how: Any
    ) -> Any:
        """An event whose handler takes the session and the inputs' values, and makes a session."""

        def run(session: Session, view: str, against: str, *values: Any) -> Any:
            return self._show(handler(session, *values), view, against)

        return self._judged(event(run, [*self.seen, *inputs], self.shown, **(PLAY | how)))

    def _on_data(self, event: Any, handler: Callable[[Session, Any], Session]) -> Any:
        """The same for an event of a component of ours, which brings data of its own."""

        def run(session: Session, view: str, against: str, event: gr.EventData) -> Any:
            return self._show(handler(session, event._data), view, against)

        return self._judged(event(run, self.seen, self.shown, **PLAY))

    def _judged(self, event: Any) -> Any:
        """Ask the referee after an event: a move is on the screen before the solver begins.

        The comparison is made anew then too, if its tab is open. Where it is not, to skip its three
        components still costs some milliseconds: Gradio builds each anew.
        """
        page = self.page
        compare = page.tabs.children.index(page.compare_tab)

        def judge(session: Session, view: str, tab: int, *other: str) -> Any:
            return (
                packed(levels.referee_view(session.past)),
                packed(views.history_view(session)),
                self.shelved.get(session.episode.level),
                places(session, view) if view == "diff" else gr.skip(),
                *(self._compared(session, *other) if tab == compare else (gr.skip(),) * 3),
            )

        asked = [page.session, page.view, page.tab, *page.others]
        shown = [page.referee, page.history, page.level, page.against, *page.compared]
        return event.then(judge, asked, shown, **JUDGE)

    def _compared(
        self, session: Session, prompt: str, model: str, template: str, odds: Sequence[Any] = ()
    ) -> tuple[str, str, str]:
        """The table and the two prompts of the Compare tab."""
        other, rows = self.do.compare(session, prompt, model, template, odds)
        ours, its = side_by_side(replace(session, look=None), other)
        pair = session.prompt, other.prompt
        note = first_break(pair[0], pair[1]) if pair[0] and pair[1] else ""
        table = {"rows": rows, "note": note, "serial": session.serial}
        return packed(table), packed_prompt(ours), packed_prompt(its)


def places(session: Session, view: str) -> Any:
    """What a diff can compare with, where one is open."""
    choices = [(BEFORE, "0"), *((place, place) for place in session.places)]
    return gr.update(visible=view == "diff", choices=choices)
