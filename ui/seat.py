"""The model's seat: an answer is begun, streamed, stopped, and put into the episode or not."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agents import Mode, Reply, load_model
from configs import GenerationConfig
from errors import UserError
from prompting import Prompt
from ui.session import Session

if TYPE_CHECKING:
    from ui.handlers import Handlers

# The ways a model may decide, as the page calls them.
MODES: dict[Mode, str] = {"grammar": "Legal answer", "choice": "Scored choice", "free": "Free"}
STREAM_EVERY = 0.1  # seconds between two updates while a model writes


@dataclass(frozen=True)
class Answer:
    """What a model made of a prompt: kept apart from the session until it is recorded."""

    prompt: Prompt
    reply: Reply
    by: str


class Seat:
    """The handlers of the model's moves; all that visitors share is who is to be stopped."""

    def __init__(self, core: Handlers) -> None:
        self._core = core
        self.stops: dict[str, threading.Event] = {}

    def begin(self, session: Session) -> Session:
        """Before a model answers: moves wait from here on."""
        if session.thinking:
            return session
        if session.episode.over:
            return session.told("The episode is over: undo, reset, or choose a level.")
        if session.prompt is None:
            return session.told(session.refusal or "The prompt is not rendered yet.")
        return replace(session, look=None, live=None, thinking=True).told()

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
            model = load_model(session.model, self._core.config.models)
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
            return session.told(session.message)
        session = replace(session, thinking=False)
        if answer is None:
            return session.told("The model did not answer: try again.")
        if answer.reply.finish_reason in ("stopped", "error", "time"):
            return replace(session, live=answer.reply).told(answer.reply.error or "")
        if answer.prompt is not session.prompt:
            return session.told(
                "The prompt changed while the model answered: nothing was recorded."
            )
        raw = session.episode.config.response_start + answer.reply.text
        episode = session.episode.respond(
            raw, by=answer.by, prompt=answer.prompt, reply=answer.reply
        )
        return session.with_episode(episode, self._core.tokenizer).told()

    def odds(
        self, session: Session, prompt: str, model: str, template: str
    ) -> list[dict[str, float]]:
        """How likely each model finds each action under its prompt; asks both."""
        other = self._core.other(session, prompt, model, template)
        return [self._scored(one) for one in (session, other)]

    def _scored(self, session: Session) -> dict[str, float]:
        if session.prompt is None or session.episode.over:
            return {}
        agent = load_model(session.model, self._core.config.models).agent(
            session.episode.config, mode="choice", generation=GenerationConfig(temperature=0)
        )
        *_, reply = agent.respond(session.prompt)
        return reply.action_probabilities
