"""Where things stand on the page. What happens when they are used is `wiring`'s."""

from __future__ import annotations

import gradio as gr

from configs import PlaygroundConfig
from envs.sokoban import parse_level
from ui import components, levels, views
from ui.files import FORMS
from ui.handlers import Handlers
from ui.prompt_views import VIEWS, prompt_view, tokens_view
from ui.scenarios import gallery_view
from ui.seat import MODES
from ui.session import Session
from ui.wiring import COMPARE, wire


def build_app(config: PlaygroundConfig) -> gr.Blocks:
    """The whole page, ready to launch."""
    handlers = Handlers(config)
    with gr.Blocks(title="Prompt Playground for Sokoban", fill_width=True) as app:
        wire(Page(config, handlers), handlers, app)
    app.queue(default_concurrency_limit=None, max_size=64)
    return app


class Page:
    """The components of the page, by name; what they do is `wiring`'s."""

    def __init__(self, config: PlaygroundConfig, handlers: Handlers) -> None:
        self.config, self.shipped = config, handlers.shelf.shipped()
        first = handlers.first()
        self.session = gr.State(first)
        self.answered = gr.State(None)
        self.tab = gr.State("History")
        self.collection = gr.State(tuple(self.shipped))
        self._header(first)
        with gr.Row(elem_classes="pp-stage"):
            with gr.Column(scale=4, min_width=320, elem_classes="pp-left"):
                self.board = components.bound("board", views.board_view(first))
                self.referee = components.bound("referee", levels.referee_view(first.episode))
                self._model()
            with gr.Column(scale=7, min_width=340, elem_classes="pp-right"):
                self._prompt(first)
                self._answer(first)
        self.history = components.bound("timeline", views.history_view(first))
        with gr.Tabs(elem_classes="pp-tabs") as self.tabs:
            self._history(first)
            self._demos()
            self._config()
            self._levels(first)
            self._template()
            self._compare(first)
            self._files()
            with gr.Tab("How it works"):
                gr.Markdown(components.asset("how.md"), elem_classes="pp-prose")

    # -- parts, from top to bottom

    def _header(self, first: Session) -> None:
        levels = [(_title(name, text), name) for name, text in self.config.levels.items()]
        models = [(model.label, name) for name, model in self.config.models.models.items()]
        components.bound("tour", "")
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
                [(label, key) for key, label in VIEWS.items()],
                value="text", show_label=False, container=False, elem_classes="pp-views",
            )  # fmt: skip
        self.against = gr.Number(
            0, label="Compare with the prompt of turn (0: the turn before)", precision=0, minimum=0,
            visible=False, elem_id="pp-against",
        )  # fmt: skip
        self.prompt = components.prompt(prompt_view(first, "text", None))
        self.tokens = components.silent("tokens", tokens_view(None, 0))

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
            with gr.Accordion("Sampling", open=False, elem_classes="pp-sampling"), gr.Row():
                self.sampled_ids = gr.Checkbox(
                    False, label="Go on from the sampled ids", min_width=260,
                    info="Not from the response's text encoded anew",
                )  # fmt: skip
                self.closing_tag = gr.Checkbox(
                    True, label="Stop at the closing tag", min_width=200,
                    info="Otherwise a free answer goes on to its own end",
                )  # fmt: skip
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
            components.bound("history", "")
            with gr.Accordion("Change the past", open=False, elem_classes="pp-past"):
                gr.Markdown(
                    "Choose a turn in the table. Every change goes on a branch of its own; "
                    "nothing is lost.",
                    elem_classes="pp-prose",
                )
                with gr.Row():
                    self.branch = gr.Dropdown([first.branch], value=first.branch, label="Branch")
                    self.fork = gr.Button("Fork from this turn")
                    self.drop = gr.Button("Drop this turn")
                with gr.Row():
                    self.past_response = gr.Textbox(
                        label="Raw response of this turn", lines=1, max_lines=6, scale=4,
                        elem_id="pp-past-response",
                    )  # fmt: skip
                    self.edit_response = gr.Button("Answer anew", scale=1)
                    self.past_reward = gr.Number(label="Reward", scale=1)
                    self.edit_reward = gr.Button("Pay anew", scale=1)

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
                "levels", levels.shelf_view(self.shipped, first.episode.level)
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

    def _demos(self) -> None:
        with gr.Tab("Demos"):
            self.gallery = components.bound("levels", gallery_view(self.config), "gallery")

    def _template(self) -> None:
        models = [(model.label, name) for name, model in self.config.models.models.items()]
        shipped = [(name.replace("-", " "), f"template:{name}") for name in self.config.templates]
        with gr.Tab("Chat template"):
            gr.Markdown(
                "The Jinja that makes one string of the messages. Pick another model's, or one of "
                "ours that shows a habit, or write your own: it is rendered at once, in the "
                "sandbox that transformers uses. Empty means the model's own.",
                elem_classes="pp-prose",
            )
            self.template_name = gr.Dropdown(
                [*models, *shipped], value=self.config.models.default, label="Template of"
            )
            self.template = gr.Code(
                "", language="jinja2", label="Jinja", interactive=True, elem_id="pp-template",
                wrap_lines=True, lines=8,
            )  # fmt: skip

    def _compare(self, first: Session) -> None:
        with gr.Tab(COMPARE):
            gr.Markdown(
                "The same history under another prompt config or model. Underlined is only there, "
                "struck out only in the prompt above.",
                elem_classes="pp-prose",
            )
            with gr.Row():
                self.other_prompt = gr.Dropdown(
                    list(self.config.prompts), value="sokoban-letters", label="Prompt config"
                )
                self.other_model = gr.Dropdown(
                    [(model.label, name) for name, model in self.config.models.models.items()],
                    value=first.model, label="Model",
                )  # fmt: skip
                self.score = gr.Button("Score the actions under both", min_width=160)
            self.table = components.bound("table", {"rows": [], "serial": 0})
            self.compared = components.prompt(prompt_view(first, "text", None), "compared")

    def _files(self) -> None:
        with gr.Tab("Save and share"):
            gr.Markdown(
                "One JSON file holds the level, the prompt config and every turn, with the exact "
                "prompt that was sent.",
                elem_classes="pp-prose",
            )
            with gr.Row():
                self.save = gr.Button("Download the episode", elem_id="pp-save")
                self.load = gr.UploadButton("Open a saved episode", file_types=[".json"])
                self.link = gr.Button("Copy the link to this page")
            with gr.Row():
                self.format = gr.Dropdown(
                    [(label, form) for form, label in FORMS.items()], value="messages",
                    label="Export as", scale=2,
                )  # fmt: skip
                self.export = gr.Button("Download the export", scale=1, elem_id="pp-export")
            self.download = components.silent("download", {"text": "", "name": ""})


def _title(name: str, text: str) -> str:
    return parse_level(text, where=name).title or name
