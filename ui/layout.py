"""Where things stand on the page, and which handler each event calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr

from agents import Mode
from configs import GenerationConfig, PlaygroundConfig
from envs.sokoban import format_xsb, parse_level
from ui import components, views
from ui.handlers import MODES, Answer, Handlers
from ui.session import Session

# Every event shows its own progress; the page's components never flicker.
_QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
# A move is answered at once and in order (the board sends one at a time).
_PLAY: dict[str, Any] = {**_QUIET, "concurrency_limit": None, "trigger_mode": "multiple"}
# Whatever uses a model's weights waits in one line.
_MODEL: dict[str, Any] = {**_QUIET, "concurrency_id": "model", "concurrency_limit": 1}


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
        self._header(first)
        with gr.Row(elem_classes="pp-stage"):
            with gr.Column(scale=4, min_width=320, elem_classes="pp-left"):
                self.board = components.bound("board", views.board_view(first))
                self._model()
            with gr.Column(scale=7, min_width=340, elem_classes="pp-right"):
                self._prompt(first)
                self._answer(first)
        with gr.Tabs(elem_classes="pp-tabs"):
            self._history(first)
            self._config()
            self._level(first)
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

    def _level(self, first: Session) -> None:
        with gr.Tab("Level"):
            gr.Markdown(
                "Paste a level, or upload a file: XSB, collections, run-length rows, SLC, Boxoban, "
                "or the symbols of the guide.",
                elem_classes="pp-prose",
            )
            self.level_text = gr.Textbox(
                format_xsb(first.episode.level), label="Level text", lines=10, max_lines=24,
                elem_id="pp-level-text",
            )  # fmt: skip
            with gr.Row():
                self.level_number = gr.Number(
                    1, label="Which level of the file", precision=0, minimum=1
                )
                self.play_level = gr.Button("Play this level", variant="primary")
                self.upload_level = gr.UploadButton(
                    "Upload a level file", file_types=[".xsb", ".sok", ".txt", ".slc", ".xml"]
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
            return event(run, [self.session, self.view, *inputs], self.shown, **options)

        def act(session: Session, view: str, event: gr.EventData) -> Any:
            return self._show(do.act(session, event._data), view)

        def look(session: Session, view: str, event: gr.EventData) -> Any:
            return self._show(do.look(session, event._data), view)

        seen = [self.session, self.view]
        self.board.act(act, seen, self.shown, **_PLAY)
        self.history.look(look, seen, self.shown, **_PLAY)
        self.view.change(self._prompt_view, seen, [self.prompt], **_PLAY)
        for event in (self.send.click, self.typed.submit):
            on(event, do.send, [self.typed]).then(lambda: "", None, self.typed, **_QUIET)
        on(self.generate.click, do.generate, [self.seed])
        on(self.level.input, do.choose_level, [self.level])
        on(self.model.input, do.choose_model, [self.model])
        on(self.play_level.click, do.paste_level, [self.level_text, self.level_number])
        self._wire_model()
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
        ).then(record, [*seen, self.answered], [*self.shown, self.stop], **_PLAY)

        def stop(request: gr.Request) -> None:
            do.stop(request.session_hash or "")

        self.stop.click(stop, None, None, **_PLAY)

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

        def upload(session: Session, view: str, path: str) -> Any:
            session, text = do.upload_level(session, path)
            return (*self._show(session, view), text)

        def ready(session: Session, view: str) -> Any:
            return self._show(do.ready(session), view)

        self.config_text.input(
            edit, [*seen, self.config_text], [*self.shown, self.config_problem],
            **_QUIET, trigger_mode="always_last", concurrency_limit=None,
        )  # fmt: skip
        texts = [*self.shown, self.config_text, self.config_problem]
        self.prompt_name.input(choose, [*seen, self.prompt_name], texts, **_PLAY)
        self.load.upload(load, [*seen, self.load], texts, **_PLAY)
        self.upload_level.upload(
            upload, [*seen, self.upload_level], [*self.shown, self.level_text], **_PLAY
        )
        self.save.click(do.save, self.session, self.download, **_PLAY)
        gr.context.Context.root_block.load(ready, seen, self.shown, **_PLAY)

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
