"""What happens on the page: plain functions from a session and an event's data to a new session.

Nothing here draws. A person's mistake becomes `Session.message` or a text beside the field; the
episode in hand is only ever replaced by one that was made without error.
"""

from __future__ import annotations

import base64
import copy
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from agents import Mode, Reply, load_model, load_tokenizer
from configs import (
    GenerationConfig,
    PlaygroundConfig,
    ScenarioConfig,
    dump_prompt_config,
    parse_prompt_config,
)
from envs.sokoban import (
    ACTION_NAMES,
    Level,
    parse_level,
    parse_levels,
    read_lurd,
    write_lurd,
)
from errors import UserError
from play import Episode, exports, golden, load_episode, picture, referee, save_episode
from play.episode import generated
from play.exports import loss_mask
from prompting import Prompt
from prompting.lints import Lint, lints
from ui import levels as levels_view
from ui.scenarios import comparison, scenario_episode, scenario_yaml
from ui.session import MAIN, Session
from ui.share import Opened, address, open_address
from ui.views import VIEWS

# What an episode can be exported as, as the page calls them.
FORMS = {
    "messages": "Messages for fine-tuning (JSONL)",
    "tokens": "Token ids with a loss mask (JSONL)",
    "completions": "Prompt and completion, a line a turn (JSONL)",
    "pytest": "Golden prompts as a pytest file",
    "gif": "Animated GIF",
}
# The ways a model may decide, as the page calls them.
MODES: dict[Mode, str] = {"grammar": "Legal answer", "choice": "Scored choice", "free": "Free"}
ACTS = ("1", "2", "3", "4", "undo", "redo", "reset")
STREAM_EVERY = 0.1  # seconds between two updates while a model writes
LARGEST_FILE = 32 * 2**20  # bytes of an uploaded file


@dataclass(frozen=True)
class Answer:
    """What a model made of a prompt: kept apart from the session until it is recorded."""

    prompt: Prompt
    reply: Reply
    by: str


@dataclass
class Handlers:
    """The page's event handlers; all they share is the config and who is to be stopped."""

    config: PlaygroundConfig
    stops: dict[str, threading.Event] = field(default_factory=dict)

    # -- beginning

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
            return _next(session.rendered(self.tokenizer), str(error)), "text"
        view = opened.view if opened.view in VIEWS else "text"
        return _next(known.with_episode(episode, self.tokenizer)), view

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

    def shipped(self) -> list[Level]:
        """The levels that come along."""
        return [parse_level(text, where=name) for name, text in self.config.levels.items()]

    def tokenizer(self, session: Session) -> Any:
        """What renders this session's prompts: its model's tokenizer, with its chat template."""
        tokenizer = load_tokenizer(session.model, self.config.models)
        return (
            tokenizer if session.template is None else _with_template(tokenizer, session.template)
        )

    # -- the person's seat

    def act(self, session: Session, data: Any) -> Session:
        """Moves and edits from the board, in the order in which they were asked for."""
        step, acts = _acts(data)
        if step != len(session.episode.turns) or session.thinking:
            return _next(session)  # asked of a board that is no longer shown
        for act in acts:
            try:
                session = session.act(act, self.tokenizer)
            except UserError:
                break  # the episode is over; the banner says so
        return _next(session)

    def send(self, session: Session, text: str) -> Session:
        """A response typed as if by the model."""
        if session.thinking:
            return _next(session, "The model is answering: stop it first.")
        try:
            episode = session.episode.respond(text, by="person, as the model", prompt=session.sent)
        except UserError as error:
            return _next(session, str(error))
        return _next(session.with_episode(episode, self.tokenizer))

    def look(self, session: Session, data: Any) -> Session:
        """Look back at a turn; the same turn again, or 0, comes back to now."""
        turn = data.get("turn") if isinstance(data, dict) else None
        valid = isinstance(turn, int) and 1 <= turn <= len(session.episode.turns)
        return _next(replace(session, look=turn if valid and turn != session.look else None))

    # -- the model's seat

    def begin(self, session: Session) -> Session:
        """Before a model answers: moves wait from here on."""
        if session.thinking:
            return session
        if session.episode.over:
            return _next(session, "The episode is over: undo, reset, or choose a level.")
        if session.prompt is None:
            return _next(session, session.refusal or "The prompt is not rendered yet.")
        return _next(replace(session, look=None, live=None, thinking=True))

    def stream(
        self,
        session: Session,
        mode: Mode,
        generation: GenerationConfig,
        visitor: str,
        *,
        closing_tag: bool = True,
    ) -> Iterator[tuple[Session, Answer | None]]:
        """The model's answer to the prompt that is shown, as it comes.

        Args:
            visitor: whose answer it is, for `stop`.
            closing_tag: a free answer ends there.
        """
        prompt = session.prompt
        if not session.thinking or prompt is None:
            return
        stop = self.stops[visitor] = threading.Event()
        try:
            yield replace(session, live=Reply(), loading=True), None
            model = load_model(session.model, self.config.models)
            agent = model.agent(
                session.episode.config,
                mode=mode,
                generation=generation,
                stop_at_closing_tag=closing_tag,
            )
            by = f"{model.label}, {MODES[mode].lower()}"
            shown = 0.0
            for reply in agent.respond(prompt, stop=stop):
                if reply.finish_reason or time.monotonic() - shown >= STREAM_EVERY:
                    shown = time.monotonic()
                    done = Answer(prompt, reply, by) if reply.finish_reason else None
                    yield replace(session, live=reply, serial=session.serial + 1), done
        except UserError as error:
            reply = Reply(finish_reason="error", error=str(error))
            yield replace(session, live=reply), Answer(prompt, reply, session.model)
        finally:
            self.stops.pop(visitor, None)

    def stop(self, visitor: str) -> None:
        """End this visitor's model answer within a token."""
        if event := self.stops.get(visitor):
            event.set()

    def record(self, session: Session, answer: Answer | None) -> Session:
        """Put a finished answer into the episode; a stopped or failed one is only shown."""
        if not session.thinking:
            return _next(session, session.message)
        session = replace(session, thinking=False)
        if answer is None:
            return _next(session, "The model did not answer: try again.")
        if answer.reply.finish_reason in ("stopped", "error", "time"):
            return _next(replace(session, live=answer.reply), answer.reply.error or "")
        if answer.prompt is not session.prompt:
            return _next(
                session, "The prompt changed while the model answered: nothing was recorded."
            )
        raw = session.episode.config.response_start + answer.reply.text
        episode = session.episode.respond(
            raw, by=answer.by, prompt=answer.prompt, reply=answer.reply
        )
        return _next(session.with_episode(episode, self.tokenizer))

    # -- what is played

    def choose_level(self, session: Session, name: str) -> Session:
        """A shipped level, by its name."""
        return self._new(session, lambda: parse_level(self.config.levels[name], where=name))

    def generate(self, session: Session, seed: float | None) -> Session:
        """The level of a seed."""
        if seed is None or seed != int(seed) or not 0 <= seed < 2**53:
            return _next(session, f"The seed is {seed}: give a whole number from 0 on.")
        return self._new(session, lambda: generated(int(seed), self.config.generator))

    def paste_level(self, session: Session, text: str) -> Session:
        """The first level of a text in any format."""
        return self._new(session, lambda: parse_level(text, where="level"))

    def open_levels(
        self, session: Session, text: str, where: str = "level text"
    ) -> tuple[Session, list[Level] | None]:
        """Every level of a text for the shelf, the first one in play; None where there is none."""
        try:
            levels = parse_levels(text, where=where)
        except UserError as error:
            return _next(session, str(error)), None
        return self._new(session, lambda: levels[0]), levels

    def open_file(self, session: Session, path: str) -> tuple[Session, list[Level] | None]:
        """Every level of an uploaded file, like `open_levels`."""
        try:
            text = _read(path)
        except UserError as error:
            return _next(session, str(error)), None
        return self.open_levels(session, text, Path(path).name)

    def pick(self, session: Session, levels: Sequence[Level], data: Any) -> Session:
        """One of the levels on the shelf."""
        index = data.get("index") if isinstance(data, dict) else None
        if not isinstance(index, int) or not 0 <= index < len(levels):
            return _next(session)
        return self._new(session, lambda: levels[index])

    def paint(self, session: Session, data: Any) -> dict[str, Any]:
        """What the editor says of what was painted; of anything else, the level in play."""
        try:
            return levels_view.painted_view(_rows(data))
        except UserError:
            return levels_view.editor_view(session.episode.level)

    def play_painted(self, session: Session, data: Any) -> Session:
        """The painted level, if it is one."""
        return self._new(session, lambda: levels_view.painted_level(_rows(data)))

    def play_moves(self, session: Session, lurd: str) -> Session:
        """The level in play from its start, with these moves as turns."""
        try:
            episode = session.episode.reset()
            tokenizer = self.tokenizer(session)
            for action in read_lurd(lurd, where="moves"):
                if episode.over:
                    break
                episode = episode.act(action, prompt=episode.prompt(tokenizer))
        except UserError as error:
            return _next(session, str(error))
        return _next(session.with_episode(episode, self.tokenizer))

    def moves(self, session: Session) -> str:
        """The moves so far as LURD, a push in upper case; invalid turns have no letter."""
        actions = [turn.action for turn in session.episode.turns if turn.action]
        return write_lurd(session.episode.level.board, actions)

    def help(self, session: Session, data: Any) -> tuple[Session, str, list[list[str]]]:
        """What the referee was asked for: a rescue, a hint's action, or a solution's pictures."""
        what = data.get("what") if isinstance(data, dict) else None
        board = session.past.board
        if what == "rescue" and not session.thinking:
            number = referee.fatal_turn(session.episode, referee.known)
            if number is not None:
                back = session.episode.undo(len(session.episode.turns) - number + 1)
                return _next(session.with_episode(back, self.tokenizer)), "", []
        if what == "hint" and (action := referee.hint(board)) is not None:
            names = session.episode.config.action_lookup or {}
            return _next(session), names.get(action, ACTION_NAMES[action]), []
        if what == "solution":
            return _next(session), "", levels_view.replay(board)
        return _next(session), "", []

    def _new(self, session: Session, level: Any) -> Session:
        try:
            episode = Episode.start(session.episode.config, level())
        except UserError as error:
            return _next(session, str(error))
        alone = replace(session, thinking=False, branch=MAIN, branches=())
        return _next(alone.with_episode(episode, self.tokenizer))

    def choose_model(self, session: Session, model: str) -> Session:
        """Another model's chat template from now on; its weights load when it is to answer."""
        if model not in self.config.models.models:
            return _next(session, f"There is no model {model!r}.")
        return _next(replace(session, model=model, live=None).rendered(self.tokenizer))

    def following(self, session: Session, seed: float | None) -> tuple[Session, int]:
        """The level of the next seed, and that seed."""
        seed = int(seed or 0) + 1
        return self.generate(session, seed), seed

    # -- another past

    def fork(self, session: Session) -> Session:
        """A branch that goes on from the turn that is looked at, or from now."""
        number = session.look or len(session.episode.turns) + 1
        return _next(session.forked(session.past, f"from turn {number}", self.tokenizer))

    def edit_response(self, session: Session, raw: str) -> Session:
        """A branch in which the turn that is looked at was answered otherwise."""
        return self._edited(
            session, "answers anew", lambda turn: session.episode.with_response(turn, raw)
        )

    def edit_reward(self, session: Session, reward: float | None) -> Session:
        """A branch in which the turn that is looked at was paid otherwise."""
        if reward is None:
            return _next(session, "Give the reward as a number.")
        return self._edited(
            session, "pays anew", lambda turn: session.episode.with_reward(turn, reward)
        )

    def drop(self, session: Session) -> Session:
        """A branch without the turn that is looked at."""
        return self._edited(session, "is dropped", session.episode.without_turn)

    def _edited(self, session: Session, why: str, edit: Callable[[int], Episode]) -> Session:
        if session.look is None:
            return _next(session, "Choose a turn in the history first.")
        try:
            episode = edit(session.look)
        except UserError as error:
            return _next(session, str(error))
        return _next(session.forked(episode, f"turn {session.look} {why}", self.tokenizer))

    def switch(self, session: Session, branch: str) -> Session:
        """Another branch."""
        return _next(session.switched(branch, self.tokenizer))

    # -- demonstrations, and two prompts on one history

    def demonstrate(
        self, session: Session, data: Any
    ) -> tuple[Session, ScenarioConfig | None, str]:
        """A ready demonstration, and the YAML that it plays under."""
        index = data.get("index") if isinstance(data, dict) else None
        known = self.config.scenarios
        if not isinstance(index, int) or not 0 <= index < len(known):
            return _next(session), None, dump_prompt_config(session.episode.config)
        scenario = known[index]
        template = self.config.templates[scenario.template] if scenario.template else None
        fresh = replace(session, template=template, thinking=False, branch=MAIN, branches=())
        try:
            tokenizer = self.tokenizer(fresh)
        except UserError:  # no model and no network: the page says so in the prompt's place
            tokenizer = None
        episode = scenario_episode(scenario, self.config, tokenizer)
        played = _next(fresh.with_episode(episode, self.tokenizer))
        return played, scenario, scenario_yaml(scenario, self.config)

    def other(self, session: Session, prompt: str, model: str) -> Session:
        """The same history under another prompt config and model."""
        config = parse_prompt_config(self.config.prompts[prompt], prompt)
        episode = session.episode.with_config(config)
        template = session.template if model == session.model else None
        other = replace(session, episode=episode, model=model, template=template, look=None)
        return other.rendered(self.tokenizer)

    def compare(
        self, session: Session, prompt: str, model: str, odds: Sequence[Any] = ()
    ) -> tuple[Session, list[list[str]]]:
        """The other session, and the rows of facts about both."""
        other = self.other(session, prompt, model)
        episodes = (session.episode, other.episode)
        return other, comparison(session.prompt, other.prompt, episodes, odds)

    def odds(self, session: Session, prompt: str, model: str) -> list[dict[str, float]]:
        """How likely each model finds each action under its prompt; asks both."""
        return [self._scored(one) for one in (session, self.other(session, prompt, model))]

    def _scored(self, session: Session) -> dict[str, float]:
        if session.prompt is None or session.episode.over:
            return {}
        agent = load_model(session.model, self.config.models).agent(
            session.episode.config, mode="choice", generation=GenerationConfig(temperature=0)
        )
        *_, reply = agent.respond(session.prompt)
        return reply.action_probabilities

    def keep_ids(self, session: Session, keep: bool) -> Session:
        """Whether prompts go on from the sampled ids, or from the encoded text."""
        return _next(replace(session, sampled_ids=bool(keep)).rendered(self.tokenizer))

    # -- the chat template

    def choose_template(self, session: Session, model: str) -> tuple[Session, str]:
        """The chat template of a model in place of the own one's; and its text."""
        shipped = self.config.templates.get(model.removeprefix("template:"))
        if shipped is not None:
            return self.use_template(session, shipped), shipped
        try:
            text = load_tokenizer(model, self.config.models).chat_template or ""
        except UserError as error:
            return _next(session, str(error)), session.template or ""
        return self.use_template(session, text if model != session.model else ""), text

    def use_template(self, session: Session, text: str) -> Session:
        """A chat template of one's own; an empty text goes back to the model's."""
        return _next(replace(session, template=text or None, live=None).rendered(self.tokenizer))

    # -- the prompt config

    def edit_config(self, session: Session, text: str) -> tuple[Session, str]:
        """The session under an edited config, and what is wrong with the edit, if anything is.

        A bad edit changes nothing: the last good config stays in force.
        """
        try:
            config = parse_prompt_config(text, "prompt config")
            if config == session.episode.config:
                return _next(session), ""
            episode = session.episode.with_config(config)
        except UserError as error:
            return session, _with_line(error, text)
        changed = replace(session, episode=episode, live=None).rendered(self.tokenizer)
        return _next(changed), ""

    def choose_prompt(self, session: Session, name: str) -> tuple[Session, str]:
        """A shipped prompt config, and its YAML for the editor."""
        text = self.config.prompts[name]
        return self.edit_config(session, text)[0], text

    # -- what is to be known of a prompt

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

    def loss(self, session: Session, prompt: Prompt) -> tuple[bool, ...]:
        """Which tokens of a training view a loss would cover."""
        return loss_mask(prompt, self.tokenizer(session))

    # -- files

    def export(self, session: Session, form: str) -> dict[str, str]:
        """The episode for a trainer, a test suite or a talk, as a file for the downloads."""
        name = f"episode-{len(session.episode.turns)}-turns-{time.strftime('%Y%m%d-%H%M%S')}"
        if form == "gif":
            data = base64.b64encode(picture.as_gif(session.episode)).decode()
            return {"base64": data, "text": "", "name": f"{name}.gif", "type": "image/gif"}
        tokenizer, episode = self.tokenizer(session), session.episode
        if form == "pytest":
            text = golden.as_pytest(episode, session.model, tokenizer)
            return {"text": text, "name": f"test_prompts_{len(episode.turns)}.py"}
        makers: dict[str, Callable[[], str]] = {
            "messages": lambda: exports.as_messages_jsonl([episode]),
            "tokens": lambda: exports.as_token_jsonl([episode], tokenizer),
            "completions": lambda: exports.as_prompt_completion_jsonl([episode], tokenizer),
        }
        return {"text": makers[form](), "name": f"{name}-{form}.jsonl"}

    def save(self, session: Session) -> dict[str, str]:
        """The episode as a file for the visitor's downloads."""
        turns = len(session.episode.turns)
        # The time makes a second save of the same episode a new value, so that it downloads too.
        stamp = time.strftime("%Y%m%d-%H%M%S")
        return {
            "text": save_episode(referee.carry(session.episode)),
            "name": f"episode-{turns}-turns-{stamp}.json",
        }

    def load(self, session: Session, path: str) -> tuple[Session, str]:
        """A saved episode in place of the one in hand, and its config's YAML."""
        try:
            episode = load_episode(_read(path), where=Path(path).name)
        except UserError as error:
            return _next(session, str(error)), dump_prompt_config(session.episode.config)
        session = replace(session, thinking=False).with_episode(episode, self.tokenizer)
        return _next(session), dump_prompt_config(episode.config)


@lru_cache(maxsize=32)
def _with_template(tokenizer: Any, template: str) -> Any:
    """The same tokenizer with another chat template; the original is everybody's."""
    other = copy.copy(tokenizer)
    other.chat_template = template
    return other


def _next(session: Session, message: str = "") -> Session:
    return replace(session, message=message, serial=session.serial + 1)


def _rows(data: Any) -> Any:
    return data.get("rows") if isinstance(data, dict) else None


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


def _read(path: str) -> str:
    file = Path(path)
    if file.stat().st_size > LARGEST_FILE:
        raise UserError(
            f"the file has {file.stat().st_size / 2**20:.0f} MiB",
            where=file.name,
            remedy=f"The largest that is read has {LARGEST_FILE // 2**20} MiB",
        )
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(
            f"byte {error.start} is not UTF-8 text", where=file.name, remedy="Save it as UTF-8"
        ) from None
