"""What happens on the page: plain functions from a session and an event's data to a new session.

Nothing here draws. A person's mistake becomes `Session.message` or a text beside the field; the
episode in hand is only ever replaced by one that was made without error. The model's moves, levels,
edits of the past and files are in modules of their own.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from agents import load_model, load_tokenizer
from configs import (
    PlaygroundConfig,
    ScenarioConfig,
    dump_prompt_config,
    parse_prompt_config,
)
from errors import UserError
from play import Episode
from play.exports import landings, loss_mask
from prompting import Prompt
from prompting.lints import Lint, lints
from ui.files import Files
from ui.past import Past
from ui.prompt_views import VIEWS
from ui.scenarios import comparison, scenario_episode, scenario_yaml
from ui.seat import Seat
from ui.session import MAIN, Session
from ui.share import Opened, address, open_address
from ui.shelf import Shelf

ACTS = ("1", "2", "3", "4", "undo", "redo", "reset")


class Handlers:
    """The page's event handlers; `seat`, `shelf`, `past` and `files` hold those of their kind."""

    def __init__(self, config: PlaygroundConfig) -> None:
        self.config = config
        self.seat, self.shelf = Seat(self), Shelf(self)
        self.past, self.files = Past(self), Files(self)

    def first(self) -> Session:
        """A session that can be shown before any tokenizer is loaded."""
        return Session(Episode.start(self.config), self.config.models.default)

    def ready(
        self, session: Session, query: Mapping[str, str] | None = None
    ) -> tuple[Session, str]:
        """The same, or what the page's address asks for, with its prompt rendered; and the view.

        Waits for the tokenizer. An address that cannot be read opens the page as if there were
        none, with a message.
        """
        try:
            opened = open_address(query or {}, self.config)
            if opened.model not in self.config.models.models:
                raise UserError(f"there is no model {opened.model!r}", where="model in the link")
            known = replace(session, model=opened.model, template=opened.template)
            episode = self._replayed(known, opened)
        except UserError as error:
            return session.rendered(self.tokenizer).told(str(error)), "text"
        view = opened.view if opened.view in VIEWS else "text"
        return known.with_episode(episode, self.tokenizer).told(), view

    def _replayed(self, session: Session, opened: Opened) -> Episode:
        """The episode of an address, each turn with the prompt that it answers."""
        episode = Episode.start(opened.prompt_config, opened.level)
        for raw in opened.raws:
            if episode.over:
                break
            shown = replace(session, episode=episode).rendered(self.tokenizer)
            episode = episode.respond(raw, prompt=shown.prompt)
        return episode

    def address(self, session: Session, view: str) -> str:
        """The query that reopens this session with this view."""
        return address(session, view, self.config)

    def tokenizer(self, session: Session) -> Any:
        """What renders this session's prompts: its model's tokenizer, with its chat template."""
        tokenizer = load_tokenizer(session.model, self.config.models)
        return (
            tokenizer if session.template is None else _with_template(tokenizer, session.template)
        )

    def act(self, session: Session, data: Any) -> Session:
        """Moves and edits from the board, in the order in which they were asked for."""
        step, acts = _acts(data)
        if step != len(session.episode.turns) or session.thinking:
            return session.told()  # asked of a board that is no longer shown
        for act in acts:
            try:
                session = session.act(act, self.tokenizer)
            except UserError:
                break  # the episode is over; the banner says so
        return session.told()

    def send(self, session: Session, text: str) -> Session:
        """A response typed as if by the model."""
        if session.thinking:
            return session.told("The model is answering: stop it first.")
        try:
            episode = session.episode.respond(text, by="person, as the model", prompt=session.sent)
        except UserError as error:
            return session.told(str(error))
        return session.with_episode(episode, self.tokenizer).told()

    def look(self, session: Session, data: Any) -> Session:
        """Look back at a turn; the same turn again, or 0, comes back to now."""
        turn = data.get("turn") if isinstance(data, dict) else None
        valid = isinstance(turn, int) and 1 <= turn <= len(session.episode.turns)
        return replace(session, look=turn if valid and turn != session.look else None).told()

    def choose_model(self, session: Session, model: str) -> Session:
        """Another model's chat template from now on; its weights load when it is to answer."""
        if model not in self.config.models.models:
            return session.told(f"There is no model {model!r}.")
        return replace(session, model=model, live=None).rendered(self.tokenizer).told()

    def demonstrate(
        self, session: Session, data: Any
    ) -> tuple[Session, ScenarioConfig | None, str]:
        """A ready demonstration, and the YAML that it plays under."""
        index = data.get("index") if isinstance(data, dict) else None
        known = self.config.scenarios
        if not isinstance(index, int) or not 0 <= index < len(known):
            return session.told(), None, dump_prompt_config(session.episode.config)
        scenario = known[index]
        template = self.config.templates[scenario.template] if scenario.template else None
        fresh = replace(session, template=template, thinking=False, branch=MAIN, branches=())
        try:
            tokenizer = self.tokenizer(fresh)
        except UserError:  # no model and no network: the page says so in the prompt's place
            tokenizer = None
        episode = scenario_episode(scenario, self.config, tokenizer)
        played = fresh.with_episode(episode, self.tokenizer).told()
        return played, scenario, scenario_yaml(scenario, self.config)

    def other(self, session: Session, prompt: str, model: str, template: str = "") -> Session:
        """The same history under another prompt config, model and chat template.

        Args:
            template: the name of one of ours, or "" for the model's own (or the one in use, where
                the model is the same).
        """
        config = parse_prompt_config(self.config.prompts[prompt], prompt)
        episode = session.episode.with_config(config)
        own = session.template if model == session.model else None
        jinja = self.config.templates[template] if template else own
        other = replace(session, episode=episode, model=model, template=jinja, look=None)
        return other.rendered(self.tokenizer)

    def compare(
        self, session: Session, prompt: str, model: str, template: str, odds: Sequence[Any] = ()
    ) -> tuple[Session, list[list[str]]]:
        """The other session, and the rows of facts about both."""
        other = self.other(session, prompt, model, template)
        episodes = (session.episode, other.episode)
        return other, comparison(session.prompt, other.prompt, episodes, odds)

    def keep_ids(self, session: Session, keep: bool) -> Session:
        """Whether prompts go on from the sampled ids, or from the encoded text."""
        return replace(session, sampled_ids=bool(keep)).rendered(self.tokenizer).told()

    def choose_template(self, session: Session, model: str) -> tuple[Session, str]:
        """The chat template of a model in place of the own one's; and its text."""
        shipped = self.config.templates.get(model.removeprefix("template:"))
        if shipped is not None:
            return self.use_template(session, shipped), shipped
        try:
            text = load_tokenizer(model, self.config.models).chat_template or ""
        except UserError as error:
            return session.told(str(error)), session.template or ""
        return self.use_template(session, text if model != session.model else ""), text

    def use_template(self, session: Session, text: str) -> Session:
        """A chat template of one's own; an empty text goes back to the model's."""
        return replace(session, template=text or None, live=None).rendered(self.tokenizer).told()

    def edit_config(self, session: Session, text: str) -> tuple[Session, str]:
        """The session under an edited config, and what is wrong with the edit, if anything is.

        A bad edit changes nothing: the last good config stays in force.
        """
        try:
            config = parse_prompt_config(text, "prompt config")
            if config == session.episode.config:
                return session.told(), ""
            episode = session.episode.with_config(config)
        except UserError as error:
            return session, _with_line(error, text)
        changed = replace(session, episode=episode, live=None).rendered(self.tokenizer)
        return changed.told(), ""

    def choose_prompt(self, session: Session, name: str) -> tuple[Session, str]:
        """A shipped prompt config, and its YAML for the editor."""
        text = self.config.prompts[name]
        return self.edit_config(session, text)[0], text

    def lints(self, session: Session, prompt: Prompt) -> list[Lint]:
        """What a person should know before they trust this prompt."""
        turn = session.past.turns[-1] if session.past.turns else None
        reply = turn.reply if turn else None
        sampled = [(reply.token_ids, turn.llm_raw_response)] if turn and reply else []
        tokenizer = self.tokenizer(session)
        return lints(prompt, session.episode.config, tokenizer, sampled=sampled)

    def doubt(self, session: Session) -> str:
        """Why the string shown may not be what the model reads; empty where it is."""
        config = self.config.models.models[session.model]
        if config.server is None:
            return ""
        try:
            return load_model(session.model, self.config.models).doubt
        except UserError as error:
            return str(error)

    def landings(self, session: Session, prompt: Prompt) -> list[tuple[int, float]]:
        """Where the rewards land in a training view."""
        return landings(prompt, session.episode)

    def loss(self, session: Session, prompt: Prompt) -> tuple[bool, ...]:
        """Which tokens of a training view a loss would cover."""
        return loss_mask(prompt, self.tokenizer(session))


@lru_cache(maxsize=32)
def _with_template(tokenizer: Any, template: str) -> Any:
    """The same tokenizer with another chat template; the original is everybody's."""
    other = copy.copy(tokenizer)
    other.chat_template = template
    return other


def _acts(data: Any) -> tuple[int, list[str]]:
    """The event's payload comes from a browser, so it may be anything."""
    data = data if isinstance(data, dict) else {}
    step, acts = data.get("step"), data.get("acts")
    acts = [act for act in acts if act in ACTS] if isinstance(acts, list) else []
    return (step if isinstance(step, int) else -1), acts[:100]


def _with_line(error: UserError, text: str) -> str:
    """The error, and under it the line that it names."""
    lines = text.splitlines()
    if error.line is None or not 1 <= error.line <= len(lines):
        return str(error)
    return f"{error}\n\n{error.line} │ {lines[error.line - 1]}"
