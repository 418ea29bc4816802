"""Which event of the page calls which handler, with what, and where its result goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gradio as gr

from agents import Mode
from configs import GenerationConfig, dump_prompt_config
from envs.sokoban import Level
from ui import levels, views
from ui.components import packed
from ui.events import JUDGE, MODEL, PLAY, QUIET, TYPING, Events, places
from ui.handlers import Handlers
from ui.prompt_views import tokens_view
from ui.seat import Answer
from ui.session import Session

SHELF_SECONDS = 4.0  # for the lengths of an uploaded collection


def wire(page: Any, handlers: Handlers, app: gr.Blocks) -> None:
    """Connect every event of the page."""
    _Wiring(page, handlers, app)


class _Wiring(Events):
    """The events of each part of the page, from top to bottom."""

    def __init__(self, page: Any, handlers: Handlers, app: gr.Blocks) -> None:
        super().__init__(page, handlers)
        self.app = app
        self._playing()
        self._model()
        self._past()
        self._levels()
        self._texts()
        self._demos()
        self._compare()
        self._files()
        self._beginning()

    # -- playing

    def _playing(self) -> None:
        page, do = self.page, self.do
        self._on_data(page.board.act, do.act)
        for event in (page.send.click, page.typed.submit):
            self._on(event, do.send, [page.typed]).then(lambda: "", None, page.typed, **QUIET)
        self._on(page.generate.click, do.shelf.generate, [page.seed])
        self._on(page.level.input, do.shelf.choose_level, [page.level])
        self._on(
            page.model.input,
            do.choose_model,
            [page.model],
            show_progress="full",  # another model's tokenizer may have to be fetched first
            show_progress_on=page.prompt,
        )

        def following(session: Session, view: str, against: str, seed: float) -> Any:
            session, seed = do.shelf.following(session, seed)
            return (*self._show(session, view, against), seed)

        self._judged(
            page.board.next(following, [*self.seen, page.seed], [*self.shown, page.seed], **PLAY)
        )

        def look(session: Session, view: str, against: str, event: gr.EventData) -> Any:
            session = do.look(session, event._data)
            turn = session.episode.turns[session.look - 1] if session.look else None
            raw, reward = (turn.llm_raw_response, turn.reward) if turn else ("", None)
            return (*self._show(session, view, against), raw, reward)

        self._judged(
            page.history.look(
                look, self.seen, [*self.shown, page.past_response, page.past_reward], **PLAY
            )
        )

        def change(session: Session, view: str, against: str) -> Any:
            return self._prompt_view(session, view, against), places(session, view)

        def inspect(session: Session, view: str) -> str:
            return packed(tokens_view(session.seen(view, do.tokenizer), session.serial))

        page.prompt.inspect(inspect, [page.session, page.view], page.tokens, **PLAY)
        for event in (page.view.change, page.against.change):
            event(change, self.seen, [page.prompt, page.against], **PLAY)

    # -- the model

    def _model(self) -> None:
        page, do = self.page, self.do
        sampling = [
            page.temperature, page.top_p, page.top_k, page.sampling_seed, page.max_new_tokens,
            page.closing_tag,
        ]  # fmt: skip

        def begin(session: Session, view: str, against: str) -> Any:
            return (*self._show(do.seat.begin(session), view, against), None)

        def stream(
            session: Session, mode: Mode, temperature: float, top_p: float, top_k: float,
            seed: float, most: float, closing_tag: bool, request: gr.Request,
        ) -> Iterator[tuple[Any, Answer | None]]:  # fmt: skip
            generation = _generation(temperature, top_p, top_k, seed, most)
            visitor = request.session_hash or ""
            answers = do.seat.stream(session, mode, generation, visitor, closing_tag=closing_tag)
            for shown, answer in answers:
                yield packed(views.answer_view(shown)), answer

        def record(session: Session, view: str, against: str, answer: Answer | None) -> Any:
            return self._show(do.seat.record(session, answer), view, against)

        def stop(request: gr.Request) -> None:
            do.seat.stop(request.session_hash or "")

        begun = page.board.model(begin, self.seen, [*self.shown, page.answered], **PLAY)
        made = begun.then(
            stream, [page.session, page.mode, *sampling], [page.answer, page.answered], **MODEL
        )
        self._judged(made.then(record, [*self.seen, page.answered], self.shown, **PLAY))
        self._on(page.sampled_ids.input, do.keep_ids, [page.sampled_ids])
        page.board.stop(stop, None, None, **PLAY)

    # -- another past

    def _past(self) -> None:
        page, do = self.page, self.do
        edits: list[tuple[Any, Callable[..., Session], list[Any]]] = [
            (page.fork.click, do.past.fork, []),
            (page.drop.click, do.past.drop, []),
            (page.edit_response.click, do.past.edit_response, [page.past_response]),
            (page.edit_reward.click, do.past.edit_reward, [page.past_reward]),
            (page.branch.input, do.past.switch, [page.branch]),
        ]
        for event, handler, inputs in edits:
            self._branches(self._on(event, handler, inputs))

    def _branches(self, event: Any) -> Any:
        return event.then(
            lambda session: gr.update(choices=session.branch_names, value=session.branch),
            self.page.session,
            self.page.branch,
            **QUIET,
        )

    # -- levels

    def _levels(self) -> None:
        page, do = self.page, self.do
        opened = [*self.shown, page.collection, page.shelf]

        def pick(
            session: Session, view: str, against: str, shelf: tuple[Level, ...],
            event: gr.EventData,
        ) -> Any:  # fmt: skip
            session = do.shelf.pick(session, shelf, event._data)
            shown = packed(levels.shelf_view(shelf, session.episode.level))
            text = levels.level_text(session.episode.level)
            return (*self._show(session, view, against), text, shown)

        def opening(session: Session, view: str, against: str, found: list[Level] | None) -> Any:
            if found is None:
                return (*self._show(session, view, against), gr.skip(), gr.skip())
            shown = packed(levels.shelf_view(found, session.episode.level))
            return (*self._show(session, view, against), tuple(found), shown)

        def paste(session: Session, view: str, against: str, text: str) -> Any:
            session, found = do.shelf.open_levels(session, text)
            return opening(session, view, against, found if found and len(found) > 1 else None)

        def upload(session: Session, view: str, against: str, path: str) -> Any:
            session, found = do.shelf.open_file(session, path)
            return opening(session, view, against, found)

        def measure(session: Session, shelf: tuple[Level, ...]) -> Any:
            measured = levels.measure(shelf, SHELF_SECONDS)
            return packed(levels.shelf_view(measured, session.episode.level))

        def ask(session: Session, view: str, against: str, event: gr.EventData) -> Any:
            session, hint, replay = do.shelf.help(session, event._data)
            shown = list(self._show(session, view, against))
            shown[1] = packed(views.board_view(session, replay))
            return (*shown, packed(levels.referee_view(session.past, hint)))

        def paint(session: Session, event: gr.EventData) -> Any:
            return packed(do.shelf.paint(session, event._data))

        picked = [*self.shown, page.level_text, page.shelf]
        self._judged(page.shelf.pick(pick, [*self.seen, page.collection], picked, **PLAY))
        self._judged(page.play_level.click(paste, [*self.seen, page.level_text], opened, **PLAY))
        self._judged(
            page.upload_level.upload(upload, [*self.seen, page.upload_level], opened, **PLAY)
        ).then(measure, [page.session, page.collection], page.shelf, **JUDGE)
        page.referee.ask(ask, self.seen, [*self.shown, page.referee], **PLAY)
        page.editor.paint(paint, page.session, page.editor, **PLAY)
        page.editor.current(
            lambda session: packed(levels.editor_view(session.episode.level)),
            page.session,
            page.editor,
            **PLAY,
        )
        self._on_data(page.editor.play, do.shelf.play_painted)
        self._on(page.play_lurd.click, do.shelf.play_moves, [page.lurd])
        page.show_lurd.click(do.shelf.moves, page.session, page.lurd, **PLAY)

    # -- texts that are edited

    def _texts(self) -> None:
        page, do = self.page, self.do

        def edit(session: Session, view: str, against: str, text: str) -> Any:
            session, problem = do.edit_config(session, text)
            return (*self._show(session, view, against), _problem(problem))

        def choose(session: Session, view: str, against: str, name: str) -> Any:
            session, text = do.choose_prompt(session, name)
            return (*self._show(session, view, against), text, _problem(""))

        def template(session: Session, view: str, against: str, name: str) -> Any:
            session, text = do.choose_template(session, name)
            return (*self._show(session, view, against), text)

        texts = [*self.shown, page.config_text, page.config_problem]
        edited = [*self.shown, page.config_problem]
        self._judged(page.config_text.input(edit, [*self.seen, page.config_text], edited, **TYPING))
        self._judged(page.prompt_name.input(choose, [*self.seen, page.prompt_name], texts, **PLAY))
        chosen = [*self.shown, page.template]
        self._judged(
            page.template_name.input(template, [*self.seen, page.template_name], chosen, **PLAY)
        )
        self._on(page.template.input, do.use_template, [page.template], **TYPING)

    # -- demonstrations

    def _demos(self) -> None:
        page, do = self.page, self.do

        def play(session: Session, against: str, event: gr.EventData) -> Any:
            session, scenario, yaml = do.demonstrate(session, event._data)
            view = scenario.view if scenario else "text"
            compare = scenario.compare if scenario and scenario.compare else gr.skip()
            name = (scenario and scenario.prompt) or page.config.prompt_name
            return (
                *self._show(session, view, against),
                view,
                yaml,
                name,
                session.template or "",
                compare,
            )

        event = page.gallery.pick(
            play,
            [page.session, page.against],
            [
                *self.shown,
                page.view,
                page.config_text,
                page.prompt_name,
                page.template,
                page.other_prompt,
            ],
            **PLAY,
        )
        self._branches(self._judged(event))

    # -- compare

    def _compare(self) -> None:
        page, do = self.page, self.do
        inputs = [page.session, *page.others]

        def score(session: Session, prompt: str, model: str, template: str) -> Any:
            other = prompt, model, template
            return self._compared(session, *other, do.seat.odds(session, *other))

        def opened(event: gr.SelectData) -> Any:
            return event.index

        self._judged(page.tabs.select(opened, None, page.tab, **PLAY))
        for other in page.others:
            other.change(self._compared, inputs, page.compared, **TYPING)
        page.score.click(score, inputs, page.compared, **MODEL)

    # -- files

    def _files(self) -> None:
        page, do = self.page, self.do

        def load(session: Session, view: str, against: str, path: str) -> Any:
            session, text = do.files.load(session, path)
            return (*self._show(session, view, against), text, _problem(""))

        texts = [*self.shown, page.config_text, page.config_problem]
        event = page.load.upload(load, [*self.seen, page.load], texts, **PLAY)
        self._branches(self._judged(event))

        def export(session: Session, form: str) -> str:
            return packed(do.files.export(session, form))

        def save(session: Session) -> str:
            return packed(do.files.save(session))

        page.export.click(export, [page.session, page.format], page.download, **PLAY)
        page.save.click(save, page.session, page.download, **PLAY)
        page.link.click(None, None, None, js="() => navigator.clipboard.writeText(location.href)")

    def _beginning(self) -> None:
        page, do = self.page, self.do

        def ready(session: Session, view: str, against: str, request: gr.Request) -> Any:
            session, view = do.ready(session, dict(request.query_params))
            text = dump_prompt_config(session.episode.config)
            yaml = text if session.episode.config != page.config.prompt else gr.skip()
            shown = self._show(session, view, against)
            return (*shown, view, yaml, session.model, session.template or "")

        fields = [page.view, page.config_text, page.model, page.template]
        self._judged(self.app.load(ready, self.seen, [*self.shown, *fields], **PLAY))


def _generation(
    temperature: float, top_p: float, top_k: float | None, seed: float | None, most: float | None
) -> GenerationConfig:
    """The sampling settings as the fields give them; an empty number is the least it may be."""
    return GenerationConfig(
        temperature=float(temperature),
        top_p=float(top_p),
        top_k=int(top_k or 0),
        seed=int(seed or 0),
        max_new_tokens=int(most or 1),
    )


def _problem(text: str) -> Any:
    return gr.update(value=text, visible=bool(text))
