"""Where things stand on the page, and which handler each event calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr

from agents import Mode
from configs import GenerationConfig, PlaygroundConfig
from envs.sokoban import Level, parse_level
from ui import components, levels, views
from ui.handlers import MODES, Answer, Handlers
from ui.session import Session

# Every event shows its own progress; the page's components never flicker.
_QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
# A move is answered at once and in order (the board sends one at a time).
_PLAY: dict[str, Any] = {**_QUIET, "concurrency_limit": None, "trigger_mode": "multiple"}
# Whatever uses a model's weights waits in one line.
_MODEL: dict[str, Any] = {**_QUIET, "concurrency_id": "model", "concurrency_limit": 1}

# The solver takes its time beside the moves, for two visitors at once.
_JUDGE: dict[str, Any] = {**_QUIET, "concurrency_id": "referee", "concurrency_limit": 2}

SHELF_SECONDS = 4.0  # for the lengths of an uploaded collection


def build_app(config: PlaygroundConfig) -> gr.Blocks:
    """The whole page, ready to launch."""
    handlers = Handlers(config)
    with gr.Blocks(title="Prompt Playground for Sokoban", fill_width=True) as app:
        _Page(config, handlers)
    app.queue(default_concurrency_limit=None, max_size=64)
    return app


class _Page:
    """The components, and how they are wired."""

    def __init__(self, config: PlaygroundConfig, handlers: Handlers) -> None:
        self.config, self.handlers = config, handlers
        first = handlers.first()
        self.session = gr.State(first)
        self.answered = gr.State(None)
        shipped = handlers.shipped()
        self.collection = gr.State(tuple(shipped))
        self._shipped = dict(zip(shipped, config.levels, strict=True))
        self._header(first)
        with gr.Row(elem_classes="pp-stage"):
            with gr.Column(scale=4, min_width=320, elem_classes="pp-left"):
                self.board = components.bound("board", views.board_view(first))
                self.referee = components.bound("referee", levels.referee_view(first.episode))
                self._model()
            with gr.Column(scale=7, min_width=340, elem_classes="pp-right"):
                self._prompt(first)
                self._answer(first)
        with gr.Tabs(elem_classes="pp-tabs"):
            self._history(first)
            self._config()
            self._levels(first)
            self._files()
            with gr.Tab("How it works"):
                gr.Markdown(components.asset("how.md"), elem_classes="pp-prose")
        self._wire()

    # -- parts, from top to bottom

    def _header(self, first: Session) -> None:
        levels = [(_title(name, text), name) for name, text in self.config.levels.items()]
        models = [(model.label, name) for name, model in self.config.models.models.items()]
        gr.HTML(components.asset("title.html"), elem_classes="pp-title")
        with gr.Row(elem_classes="pp-header"):
            # Each in a column of its own, or Gradio would melt neighbours into one form.
            with gr.Column(scale=3, min_width=150):
                self.level = gr.Dropdown(levels, value=self.config.level, label="Level")
            with gr.Column(scale=2, min_width=150), gr.Row(elem_classes="pp-seed"):
                self.seed = gr.Number(1, label="Seed", precision=0, minimum=0, min_width=64)
                self.generate = gr.Button("New level", min_width=84)
            with gr.Column(scale=3, min_width=150):
                self.prompt_name = gr.Dropdown(
                    list(self.config.prompts), value=self.config.prompt_name, label="Prompt config"
                )
            with gr.Column(scale=3, min_width=150):
                self.model = gr.Dropdown(models, value=first.model, label="Model")

    def _prompt(self, first: Session) -> None:
        with gr.Row(elem_classes="pp-heading"):
            gr.HTML("<h2>What the model reads</h2>")
            self.view = gr.Radio(
                [(label, key) for key, label in views.VIEWS.items()],
                value="text", show_label=False, container=False, elem_classes="pp-views",
            )  # fmt: skip
        self.prompt = components.prompt(views.prompt_view(first, "text", None))

    def _answer(self, first: Session) -> None:
        gr.HTML("<h2>The answer</h2>")
        self.answer = components.bound("answer", views.answer_view(first))
        with gr.Row(elem_classes="pp-seat"):
            self.typed = gr.Textbox(
                show_label=False, container=False, lines=1, max_lines=6, scale=5, min_width=200,
                placeholder="Answer as the model would, e.g. Right</answer>", elem_id="pp-typed",
            )  # fmt: skip
            self.send = gr.Button("Send", scale=1, min_width=80)

    def _model(self) -> None:
        with gr.Column(elem_classes="pp-card"):
            with gr.Row(elem_classes="pp-seat"):
                self.mode = gr.Radio(
                    [(label, mode) for mode, label in MODES.items()],
                    value="grammar", show_label=False, container=False,
                    elem_classes="pp-views",
                )  # fmt: skip
                self.move = gr.Button("Model move", variant="primary", min_width=110)
                self.stop = gr.Button("Stop", variant="stop", min_width=70, visible=False)
            with gr.Accordion("Sampling", open=False, elem_classes="pp-sampling"), gr.Row():
                generation = self.config.models.generation
                self.temperature = gr.Slider(
                    0, 2, generation.temperature, step=0.05, label="Temperature"
                )
                self.top_p = gr.Slider(0.05, 1, generation.top_p, step=0.05, label="Top-p")
                self.top_k = gr.Number(
                    generation.top_k, label="Top-k (0: all)", precision=0, minimum=0
                )
                self.sampling_seed = gr.Number(
                    generation.seed, label="Seed", precision=0, minimum=0
                )
                self.max_new_tokens = gr.Number(
                    generation.max_new_tokens, label="Most new tokens", precision=0, minimum=1
                )

    def _history(self, first: Session) -> None:
        with gr.Tab("History"):
            self.history = components.bound("history", views.history_view(first))

    def _config(self) -> None:
        with gr.Tab("Prompt config"):
            gr.Markdown(
                "Edit the YAML: the prompt above is rendered again at once, with the same moves. "
                "A mistake is named here, and the last good config stays in force.",
                elem_classes="pp-prose",
            )
            self.config_problem = gr.Textbox(
                show_label=False, container=False, visible=False, interactive=False,
                elem_id="pp-config-problem", lines=3,
            )  # fmt: skip
            self.config_text = gr.Code(
                self.config.prompts[self.config.prompt_name], language="yaml", label="YAML",
                interactive=True, elem_id="pp-config", wrap_lines=True,
            )  # fmt: skip

    def _levels(self, first: Session) -> None:
        with gr.Tab("Levels"):
            self.shelf = components.bound(
                "levels", levels.shelf_view(self.handlers.shipped(), first.episode.level)
            )
            with gr.Row(elem_classes="pp-makers"):
                with gr.Column(min_width=320):
                    gr.HTML("<h2>Paste or upload</h2>")
                    self.level_text = gr.Textbox(
                        levels.level_text(first.episode.level), show_label=False, container=False,
                        lines=12, max_lines=24, elem_id="pp-level-text",
                        placeholder="XSB, a collection, run-length rows, SLC, Boxoban, "
                        "or the guide's own symbols",
                    )  # fmt: skip
                    with gr.Row():
                        self.play_level = gr.Button("Play this level", variant="primary")
                        self.upload_level = gr.UploadButton(
                            "Upload a file",
                            file_types=[".xsb", ".sok", ".txt", ".slc", ".xml"],
                        )
                    gr.HTML("<h2>Moves as LURD</h2>")
                    self.lurd = gr.Textbox(
                        show_label=False, container=False, elem_id="pp-lurd", max_lines=4,
                        placeholder="rdrU: lower case a move, upper case a push",
                    )  # fmt: skip
                    with gr.Row():
                        self.play_lurd = gr.Button("Play these from the start")
                        self.show_lurd = gr.Button("Show my moves")
                with gr.Column(min_width=320):
                    gr.HTML("<h2>Draw one</h2>")
                    self.editor = components.bound(
                        "editor", levels.editor_view(first.episode.level)
                    )

    def _files(self) -> None:
        with gr.Tab("Save and load"):
            gr.Markdown(
                "One JSON file holds the level, the prompt config and every turn, with the exact "
                "prompt that was sent.",
                elem_classes="pp-prose",
            )
            with gr.Row():
                self.save = gr.Button("Download the episode", elem_id="pp-save")
                self.load = gr.UploadButton("Open a saved episode", file_types=[".json"])
            self.download = components.downloader()

    # -- which event calls what

    def _wire(self) -> None:
        do = self.handlers
        self.shown = [self.session, self.board, self.prompt, self.answer, self.history]

        def on(event: Any, handler: Any, inputs: list[Any], **options: Any) -> Any:
            """An event whose handler takes the session and the inputs, and makes a session."""

            def run(session: Session, view: str, *values: Any) -> Any:
                return self._show(handler(session, *values), view)

            options = _PLAY | options
            event = event(run, [self.session, self.view, *inputs], self.shown, **options)
            return self._judged(event)

        def act(session: Session, view: str, event: gr.EventData) -> Any:
            return self._show(do.act(session, event._data), view)

        def look(session: Session, view: str, event: gr.EventData) -> Any:
            return self._show(do.look(session, event._data), view)

        seen = [self.session, self.view]
        self._judged(self.board.act(act, seen, self.shown, **_PLAY))
        self.history.look(look, seen, self.shown, **_PLAY)
        self.view.change(self._prompt_view, seen, [self.prompt], **_PLAY)
        for event in (self.send.click, self.typed.submit):
            on(event, do.send, [self.typed]).then(lambda: "", None, self.typed, **_QUIET)
        on(self.generate.click, do.generate, [self.seed])
        on(self.level.input, do.choose_level, [self.level])
        on(self.model.input, do.choose_model, [self.model])
        self._wire_model()
        self._wire_levels()
        self._wire_texts()

    def _wire_model(self) -> None:
        do = self.handlers
        seen = [self.session, self.view]
        sampling = [
            self.temperature, self.top_p, self.top_k, self.sampling_seed, self.max_new_tokens
        ]  # fmt: skip

        def begin(session: Session, view: str) -> Any:
            session = do.begin(session)
            return (*self._show(session, view), None, gr.update(visible=session.thinking))

        def stream(
            session: Session, mode: Mode, temperature: float, top_p: float, top_k: float,
            seed: float, most: float, request: gr.Request,
        ) -> Iterator[tuple[Any, Answer | None]]:  # fmt: skip
            generation = GenerationConfig(
                temperature=float(temperature), top_p=float(top_p), top_k=int(top_k or 0),
                seed=int(seed or 0), max_new_tokens=int(most or 1),
            )  # fmt: skip
            visitor = request.session_hash or ""
            for shown, answer in do.stream(session, mode, generation, visitor):
                yield views.answer_view(shown), answer

        def record(session: Session, view: str, answer: Answer | None) -> Any:
            return (*self._show(do.record(session, answer), view), gr.update(visible=False))

        self.move.click(begin, seen, [*self.shown, self.answered, self.stop], **_PLAY).then(
            stream, [self.session, self.mode, *sampling], [self.answer, self.answered], **_MODEL
        ).then(record, [*seen, self.answered], [*self.shown, self.stop], **_PLAY).then(
            *self._judging, **_JUDGE
        )

        def stop(request: gr.Request) -> None:
            do.stop(request.session_hash or "")

        self.stop.click(stop, None, None, **_PLAY)

    def _wire_levels(self) -> None:
        do = self.handlers
        seen = [self.session, self.view]
        opened = [*self.shown, self.collection, self.shelf]

        def pick(session: Session, view: str, shelf: tuple[Level, ...], event: gr.EventData) -> Any:
            session = do.pick(session, shelf, event._data)
            shown = levels.shelf_view(shelf, session.episode.level)
            return (*self._show(session, view), levels.level_text(session.episode.level), shown)

        def opening(session: Session, view: str, found: list[Level] | None) -> Any:
            if found is None:
                return (*self._show(session, view), gr.skip(), gr.skip())
            shown = levels.shelf_view(found, session.episode.level)
            return (*self._show(session, view), tuple(found), shown)

        def paste(session: Session, view: str, text: str) -> Any:
            session, found = do.open_levels(session, text)
            return opening(session, view, found if found and len(found) > 1 else None)

        def upload(session: Session, view: str, path: str) -> Any:
            session, found = do.open_file(session, path)
            return opening(session, view, found)

        def measure(session: Session, shelf: tuple[Level, ...]) -> Any:
            return levels.shelf_view(levels.measure(shelf, SHELF_SECONDS), session.episode.level)

        def ask(session: Session, view: str, event: gr.EventData) -> Any:
            session, hint, replay = do.help(session, event._data)
            shown = list(self._show(session, view))
            shown[1] = views.board_view(session, replay)
            return (*shown, levels.referee_view(session.past, hint))

        def paint(session: Session, event: gr.EventData) -> Any:
            return do.paint(session, event._data)

        def play(session: Session, view: str, event: gr.EventData) -> Any:
            return self._show(do.play_painted(session, event._data), view)

        def lurd(session: Session, view: str, moves: str) -> Any:
            return self._show(do.play_moves(session, moves), view)

        self.referee.ask(ask, seen, [*self.shown, self.referee], **_PLAY)
        self._judged(
            self.shelf.pick(
                pick, [*seen, self.collection], [*self.shown, self.level_text, self.shelf], **_PLAY
            )
        )
        self._judged(self.play_level.click(paste, [*seen, self.level_text], opened, **_PLAY))
        self._judged(
            self.upload_level.upload(upload, [*seen, self.upload_level], opened, **_PLAY)
        ).then(measure, [self.session, self.collection], self.shelf, **_JUDGE)
        self.editor.paint(paint, self.session, self.editor, **_PLAY)
        self.editor.current(
            lambda session: levels.editor_view(session.episode.level),
            self.session, self.editor, **_PLAY,
        )  # fmt: skip
        self._judged(self.editor.play(play, seen, self.shown, **_PLAY))
        self._judged(self.play_lurd.click(lurd, [*seen, self.lurd], self.shown, **_PLAY))
        self.show_lurd.click(do.moves, self.session, self.lurd, **_PLAY)

    @property
    def _judging(self) -> tuple[Any, ...]:
        """What the referee says of the position, and the history with its verdicts."""

        def judge(session: Session) -> Any:
            return (
                levels.referee_view(session.past),
                views.history_view(session),
                self._shipped.get(session.episode.level),
            )

        return judge, [self.session], [self.referee, self.history, self.level]

    def _judged(self, event: Any) -> Any:
        """Ask the referee after an event: a move is on the screen before the solver begins."""
        return event.then(*self._judging, **_JUDGE)

    def _wire_texts(self) -> None:
        do = self.handlers
        seen = [self.session, self.view]

        def edit(session: Session, view: str, text: str) -> Any:
            session, problem = do.edit_config(session, text)
            return (*self._show(session, view), _problem(problem))

        def choose(session: Session, view: str, name: str) -> Any:
            session, text = do.choose_prompt(session, name)
            return (*self._show(session, view), text, _problem(""))

        def load(session: Session, view: str, path: str) -> Any:
            session, text = do.load(session, path)
            return (*self._show(session, view), text, _problem(""))

        def ready(session: Session, view: str, request: gr.Request) -> Any:
            asked = dict(request.query_params)
            return self._show(
                do.ready(session, asked.get("level", ""), asked.get("moves", "")), view
            )

        self.config_text.input(
            edit, [*seen, self.config_text], [*self.shown, self.config_problem],
            **_QUIET, trigger_mode="always_last", concurrency_limit=None,
        )  # fmt: skip
        texts = [*self.shown, self.config_text, self.config_problem]
        self.prompt_name.input(choose, [*seen, self.prompt_name], texts, **_PLAY)
        self._judged(self.load.upload(load, [*seen, self.load], texts, **_PLAY))
        self.save.click(do.save, self.session, self.download, **_PLAY)
        self._judged(gr.context.Context.root_block.load(ready, seen, self.shown, **_PLAY))

    def _show(self, session: Session, view: str) -> tuple[Any, ...]:
        """The session and its values, in the order of `self.shown`."""
        return (
            session,
            views.board_view(session),
            self._prompt_view(session, view),
            views.answer_view(session),
            views.history_view(session),
        )

    def _prompt_view(self, session: Session, view: str) -> dict[str, Any]:
        return views.prompt_view(session, view, session.seen(view, self.handlers.tokenizer))


def _problem(text: str) -> Any:
    return gr.update(value=text, visible=bool(text))


def _title(name: str, text: str) -> str:
    return parse_level(text, where=name).title or name
