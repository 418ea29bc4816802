"""Files in and out: saved episodes, exports, and what visitors upload."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from configs import dump_prompt_config
from errors import UserError
from play import exports, golden, load_episode, picture, referee, save_episode
from ui.session import Session

if TYPE_CHECKING:
    from ui.handlers import Handlers

# What an episode can be exported as, as the page calls them.
FORMS = {
    "messages": "Messages for fine-tuning (JSONL)",
    "tokens": "Token ids with a loss mask (JSONL)",
    "completions": "Prompt and completion, a line a turn (JSONL)",
    "pytest": "Golden prompts as a pytest file",
    "gif": "Animated GIF",
}
LARGEST_FILE = 32 * 2**20  # bytes of an uploaded file


class Files:
    """The handlers of downloads and of saved episodes."""

    def __init__(self, core: Handlers) -> None:
        self._core = core

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
            episode = load_episode(read_upload(path), where=Path(path).name)
        except UserError as error:
            return session.told(str(error)), dump_prompt_config(session.episode.config)
        session = replace(session, thinking=False).with_episode(episode, self._core.tokenizer)
        return session.told(), dump_prompt_config(episode.config)

    def export(self, session: Session, form: str) -> dict[str, str]:
        """The episode for a trainer, a test suite or a talk, as a file for the downloads."""
        name = f"episode-{len(session.episode.turns)}-turns-{time.strftime('%Y%m%d-%H%M%S')}"
        if form == "gif":
            data = base64.b64encode(picture.as_gif(session.episode)).decode()
            return {"base64": data, "text": "", "name": f"{name}.gif", "type": "image/gif"}
        tokenizer, episode = self._core.tokenizer(session), session.episode
        if form == "pytest":
            text = golden.as_pytest(episode, session.model, tokenizer)
            return {"text": text, "name": f"test_prompts_{len(episode.turns)}.py"}
        makers: dict[str, Callable[[], str]] = {
            "messages": lambda: exports.as_messages_jsonl([episode]),
            "tokens": lambda: exports.as_token_jsonl([episode], tokenizer),
            "completions": lambda: exports.as_prompt_completion_jsonl([episode], tokenizer),
        }
        return {"text": makers[form](), "name": f"{name}-{form}.jsonl"}


def read_upload(path: str) -> str:
    """The text of an uploaded file.

    Raises:
        UserError: it is too large, or not UTF-8.
    """
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
