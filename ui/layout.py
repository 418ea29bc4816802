"""Where things stand on the page. What happens when they are used is `wiring`'s."""

from __future__ import annotations

import gradio as gr

from configs import PlaygroundConfig
from envs.sokoban import parse_level
from ui import components, levels, views
from ui.events import BEFORE
from ui.files import FORMS
from ui.handlers import Handlers
from ui.prompt_views import VIEWS, prompt_view, side_by_side, tokens_view
from ui.scenarios import gallery_view
from ui.seat import MODES
from ui.session import Session
from ui.wiring import wire
from ui.words import say


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
        self.tab = gr.State(0)
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
            with gr.Tab(say("How it works")):
                components.prose(components.asset("how.md"))

    # -- parts, from top to bottom

    def _header(self, first: Session) -> None:
        levels = [(say(_title(name, text)), name) for name, text in self.config.levels.items()]
        models = [(model.label, name) for name, model in self.config.models.models.items()]
        components.bound("tour", "")
        with gr.Row(elem_classes="pp-header"):
            # Each in a column of its own, or Gradio would melt neighbours into one form.
            with gr.Column(scale=3, min_width=150):
                self.level = gr.Dropdown(levels, value=self.config.level, label=say("Level"))
            with gr.Column(scale=2, min_width=150), gr.Row(elem_classes="pp-seed"):
                self.seed = gr.Number(1, label=say("Seed"), precision=0, minimum=0, min_width=64)
                self.generate = gr.Button(say("New level"), min_width=84)
            with gr.Column(scale=3, min_width=150):
                self.prompt_name = gr.Dropdown(
                    list(self.config.prompts),
                    value=self.config.prompt_name,
                    label=say("Prompt config"),
                )
            with gr.Column(scale=3, min_width=150):
                self.model = gr.Dropdown(models, value=first.model, label=say("Model"))

    def _prompt(self, first: Session) -> None:
        with gr.Row(elem_classes="pp-heading"):
            components.heading("What the model reads")
            self.view = gr.Radio(
                [(say(label), key) for key, label in VIEWS.items()],
                value="text", label=say("View"), show_label=False, container=False,
                elem_classes="pp-views",
            )  # fmt: skip
        self.against = gr.Dropdown(
            [(BEFORE, "0")], value="0", visible=False, allow_custom_value=True,
            label=say("Compare with the prompt of this turn or branch (−1: the turn before)"),
            elem_id="pp-against",
        )  # fmt: skip
        self.prompt = components.prompt(prompt_view(first, "text", None))
        self.tokens = components.silent("tokens", tokens_view(None, 0))

    def _answer(self, first: Session) -> None:
        components.heading("The answer")
        self.answer = components.bound("answer", views.answer_view(first))
        with gr.Row(elem_classes="pp-seat"):
            self.typed = gr.Textbox(
                label=say("Answer as the model"), show_label=False, container=False, lines=1,
                max_lines=6, scale=5, min_width=200,
                placeholder=say("Answer as the model would, e.g. Right</answer>"),
                elem_id="pp-typed",
            )  # fmt: skip
            self.send = gr.Button(say("Send"), scale=1, min_width=80)

    def _model(self) -> None:
        with gr.Column(elem_classes="pp-card"):
            with gr.Row(elem_classes="pp-seat"):
                self.mode = gr.Radio(
                    [(say(label), mode) for mode, label in MODES.items()],
                    value="grammar", label=say("How the model decides"), show_label=False,
                    container=False,
                    elem_classes="pp-views",
                )  # fmt: skip
            with gr.Accordion(say("Sampling"), open=False, elem_classes="pp-sampling"), gr.Row():
                self.sampled_ids = gr.Checkbox(
                    False, label=say("Go on from the sampled ids"), min_width=260,
                    info=say("Not from the response's text encoded anew"),
                )  # fmt: skip
                self.closing_tag = gr.Checkbox(
                    True, label=say("Stop at the closing tag"), min_width=200,
                    info=say("Otherwise a free answer goes on to its own end"),
                )  # fmt: skip
                generation = self.config.models.generation
                self.temperature = gr.Slider(
                    0, 2, generation.temperature, step=0.05, label=say("Temperature")
                )
                self.top_p = gr.Slider(0.05, 1, generation.top_p, step=0.05, label=say("Top-p"))
                self.top_k = gr.Number(
                    generation.top_k, label=say("Top-k (0: all)"), precision=0, minimum=0
                )
                self.sampling_seed = gr.Number(
                    generation.seed, label=say("Seed"), precision=0, minimum=0
                )
                self.max_new_tokens = gr.Number(
                    generation.max_new_tokens, label=say("Most new tokens"), precision=0, minimum=1
                )

    def _history(self, first: Session) -> None:
        with gr.Tab(say("History")):
            components.bound("history", "")
            with gr.Accordion(say("Change the past"), open=False, elem_classes="pp-past"):
                components.prose(
                    "Choose a turn in the table. Every change goes on a branch of its own; "
                    "nothing is lost."
                )
                with gr.Row():
                    self.branch = gr.Dropdown(
                        [first.branch], value=first.branch, label=say("Branch")
                    )
                    self.fork = gr.Button(say("Fork from this turn"))
                    self.drop = gr.Button(say("Drop this turn"))
                with gr.Row():
                    self.past_response = gr.Textbox(
                        label=say("Raw response of this turn"), lines=1, max_lines=6, scale=4,
                        elem_id="pp-past-response",
                    )  # fmt: skip
                    self.edit_response = gr.Button(say("Answer anew"), scale=1)
                    self.past_reward = gr.Number(label=say("Reward"), scale=1)
                    self.edit_reward = gr.Button(say("Pay anew"), scale=1)

    def _config(self) -> None:
        with gr.Tab(say("Prompt config")):
            components.prose(
                "Edit the YAML: the prompt above is rendered again at once, with the same moves. "
                "A mistake is named here, and the last good config stays in force."
            )
            self.config_problem = gr.Textbox(
                label=say("What is wrong"), show_label=False, container=False, visible=False,
                interactive=False,
                elem_id="pp-config-problem", lines=3,
            )  # fmt: skip
            self.config_text = gr.Code(
                self.config.prompts[self.config.prompt_name], language="yaml", label=say("YAML"),
                interactive=True, elem_id="pp-config", wrap_lines=True,
            )  # fmt: skip

    def _levels(self, first: Session) -> None:
        with gr.Tab(say("Levels")):
            self.shelf = components.bound(
                "levels", levels.shelf_view(self.shipped, first.episode.level)
            )
            with gr.Row(elem_classes="pp-makers"):
                with gr.Column(min_width=320):
                    components.heading("Paste or upload")
                    self.level_text = gr.Textbox(
                        levels.level_text(first.episode.level), label=say("Level"),
                        show_label=False, container=False, lines=12, max_lines=24,
                        elem_id="pp-level-text",
                        placeholder=say("XSB, a collection, run-length rows, SLC, Boxoban, "
                        "or the guide's own symbols"),
                    )  # fmt: skip
                    with gr.Row():
                        self.play_level = gr.Button(say("Play this level"), variant="primary")
                        self.upload_level = gr.UploadButton(
                            say("Upload a file"),
                            file_types=[".xsb", ".sok", ".txt", ".slc", ".xml"],
                        )
                    components.heading("Moves as LURD")
                    self.lurd = gr.Textbox(
                        label=say("Moves as LURD"), show_label=False, container=False,
                        elem_id="pp-lurd", max_lines=4,
                        placeholder=say("rdrU: lower case a move, upper case a push"),
                    )  # fmt: skip
                    with gr.Row():
                        self.play_lurd = gr.Button(say("Play these from the start"))
                        self.show_lurd = gr.Button(say("Show my moves"))
                with gr.Column(min_width=320):
                    components.heading("Draw one")
                    self.editor = components.bound(
                        "editor", levels.editor_view(first.episode.level)
                    )

    def _demos(self) -> None:
        with gr.Tab(say("Demos")):
            self.gallery = components.bound("levels", gallery_view(self.config), "gallery")

    def _template(self) -> None:
        models = [(model.label, name) for name, model in self.config.models.models.items()]
        shipped = [(label, f"template:{name}") for label, name in self._templates()]
        with gr.Tab(say("Chat template")):
            components.prose(
                "The Jinja that makes one string of the messages. Pick another model's, or one of "
                "ours that shows a habit, or write your own: it is rendered at once, in the "
                "sandbox that transformers uses. Empty means the model's own."
            )
            self.template_name = gr.Dropdown(
                [*models, *shipped], value=self.config.models.default, label=say("Template of")
            )
            self.template = gr.Code(
                "", language="jinja2", label=say("Jinja"), interactive=True, elem_id="pp-template",
                wrap_lines=True, lines=8,
            )  # fmt: skip

    def _templates(self) -> list[tuple[str, str]]:
        """Those of our own, as (label, name)."""
        return [(say(name.replace("-", " ")), name) for name in self.config.templates]

    def _compare(self, first: Session) -> None:
        with gr.Tab(say("Compare")) as self.compare_tab:
            components.prose(
                "The same history under another prompt config, model or chat template. What only "
                "one of the two prompts has is marked in it."
            )
            with gr.Row():
                self.other_prompt = gr.Dropdown(
                    list(self.config.prompts), value="sokoban-letters", label=say("Prompt config")
                )
                self.other_model = gr.Dropdown(
                    [(model.label, name) for name, model in self.config.models.models.items()],
                    value=first.model, label=say("Model"),
                )  # fmt: skip
                self.other_template = gr.Dropdown(
                    [(say("The model's own"), ""), *self._templates()],
                    value="",
                    label=say("Chat template"),
                )
                self.score = gr.Button(say("Score the actions under both"), min_width=160)
            self.others = [self.other_prompt, self.other_model, self.other_template]
            table = components.bound("table", {"rows": [], "note": "", "serial": 0})
            with gr.Row(elem_classes="pp-beside"):
                one, other = side_by_side(first, first)
                with gr.Column(min_width=320):
                    components.heading("The prompt above")
                    ours = components.prompt(one, "ours", "The prompt above")
                with gr.Column(min_width=320):
                    components.heading("The other one")
                    its = components.prompt(other, "compared", "The other one")
            self.compared = [table, ours, its]

    def _files(self) -> None:
        with gr.Tab(say("Save and share")):
            components.prose(
                "One JSON file holds the level, the prompt config and every turn, with the exact "
                "prompt that was sent."
            )
            with gr.Row():
                self.save = gr.Button(say("Download the episode"), elem_id="pp-save")
                self.load = gr.UploadButton(say("Open a saved episode"), file_types=[".json"])
                self.link = gr.Button(say("Copy the link to this page"))
            with gr.Row():
                self.format = gr.Dropdown(
                    [(say(label), form) for form, label in FORMS.items()], value="messages",
                    label=say("Export as"), scale=2,
                )  # fmt: skip
                self.export = gr.Button(say("Download the export"), scale=1, elem_id="pp-export")
            self.download = components.silent("download", {"text": "", "name": ""})


def _title(name: str, text: str) -> str:
    return parse_level(text, where=name).title or name
