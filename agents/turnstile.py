"""A fair line in front of something that serves one at a time: first come, first served.

A plain lock may be won by whoever comes last, and cannot say how long the line is.
"""

from __future__ import annotations

import threading


class Turnstile:
    """Each request joins, waits until nobody is ahead, and leaves when it is done."""

    def __init__(self) -> None:
        self._tickets: list[object] = []
        self._moved = threading.Condition()

    def join(self) -> object:
        """A ticket at the end of the line."""
        ticket = object()
        with self._moved:
            self._tickets.append(ticket)
        return ticket

    def ahead(self, ticket: object, timeout: float) -> int:
        """How many are ahead of `ticket`; waits up to `timeout` seconds for that to change."""
        with self._moved:
            before = self._tickets.index(ticket)
            if before:
                self._moved.wait_for(lambda: self._tickets.index(ticket) < before, timeout)
            return self._tickets.index(ticket)

    def leave(self, ticket: object) -> None:
        """Give up the place, served or not."""
        with self._moved:
            self._tickets.remove(ticket)
            self._moved.notify_all()

    def __len__(self) -> int:
        with self._moved:
            return len(self._tickets)
