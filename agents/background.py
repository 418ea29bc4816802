"""An answer made in a thread of its own, handed over snapshot by snapshot.

So a slow reader never holds the model, and closing the iterator (a closed tab) ends the work. What
the work is, is the agent's; it must ask `stopped` often, and its last snapshot must be finished.
"""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from agents.base import Reply
from errors import UserError

# Without news the last snapshot comes again after this many seconds: a generator can only be
# closed while it yields.
HEARTBEAT = 0.25

Stopped: TypeAlias = "Callable[[], bool]"
Work: TypeAlias = "Callable[[Stopped], Iterator[Reply]]"


def in_background(work: Work, first: Reply, stop: threading.Event | None) -> Iterator[Reply]:
    """The replies of `work`, which runs in a thread; an exception in it becomes the last reply.

    Args:
        work: gets `stopped`, which is true once `stop` is set or this iterator is closed.
        first: what is handed over until there is news.
    """
    closed = threading.Event()
    replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()

    def stopped() -> bool:
        return closed.is_set() or (stop is not None and stop.is_set())

    # The context tells ZeroGPU whose quota the work counts against.
    context = contextvars.copy_context()
    worker = threading.Thread(
        target=context.run,
        args=(_run, work, stopped, first, replies),
        name="answering",
        daemon=True,
    )
    worker.start()
    reply = first
    try:
        while reply.finish_reason is None:
            try:
                reply = replies.get(timeout=HEARTBEAT)
            except queue.Empty:
                reply = replace(reply, seconds=reply.seconds + HEARTBEAT)
            yield reply
    finally:
        closed.set()
        worker.join()


def _run(work: Work, stopped: Stopped, last: Reply, replies: queue.SimpleQueue[Reply]) -> None:
    """Put all snapshots into `replies`; whatever happens, the last has a finish reason."""
    try:
        for reply in work(stopped):
            last = reply
            replies.put(last)
    except Exception as error:  # out of memory, a setting that torch refuses, a broken model
        replies.put(replace(last, finish_reason="error", error=_message(error)))


def _message(error: Exception) -> str:
    """What went wrong, for a person: a user's mistake has its own words."""
    if isinstance(error, UserError):
        return str(error)
    words = " ".join(str(error).split())[:300] or type(error).__name__
    if isinstance(error, MemoryError) or "out of memory" in words or "can't allocate" in words:
        return f"The model ran out of memory: {words}. Undo some turns, or choose a smaller model."
    kind = type(error).__name__
    return f"The model failed: {kind}: {words}. Check the sampling settings, or try again."
