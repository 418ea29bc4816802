"""The OpenAI completions protocol on the wire: one request, its stream of events, and its failures.

What to ask is `agents.question`'s, and what an answer means `agents.completions`'s. Addresses and
keys come from the config and the environment of whoever runs the page; a key goes into a header
and nowhere else.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import httpx

from configs.schema import ServerConfig
from errors import UserError

# Passing troubles: the server starts, is busy, or has too many requests.
_PASSING = (429, 502, 503, 504)
_CONNECT_SECONDS = 5.0
# How long Stop may go unnoticed while the server is silent.
_LOOK_SECONDS = 0.05

Events: TypeAlias = "AsyncGenerator[dict[str, Any], None]"


class ServerTrouble(UserError):
    """The server did not answer as it should."""


class _Passing(ServerTrouble):
    """It may do so in a moment."""

    after: float | None = None


class Connection:
    """Where a server is and how long to try.

    Args:
        first_wait: seconds before the second attempt; each later wait is twice as long.
        total_wait: all waits together take no longer.
    """

    def __init__(
        self, server: ServerConfig, *, first_wait: float = 0.5, total_wait: float = 8.0
    ) -> None:
        self._server, self._first_wait, self._total_wait = server, first_wait, total_wait

    async def events(self, path: str, body: dict[str, Any]) -> Events:
        """The events of one streamed request; closing the iterator closes the connection.

        Until the first event, passing troubles are tried again; later ones cannot be, because a
        second answer would not go on where the first one broke off.

        Raises:
            ServerTrouble: in words, with a remedy.
        """
        wait, left = self._first_wait, self._total_wait
        while True:
            begun = False
            try:
                async with aclosing(self._once(path, body)) as once:
                    async for event in once:
                        begun = True
                        yield event
                return
            except _Passing as trouble:
                wait = max(wait, trouble.after or 0.0)
                if begun or wait > left:
                    raise
            await asyncio.sleep(wait)
            left -= wait
            wait *= 2

    async def _once(self, path: str, body: dict[str, Any]) -> Events:
        url, key = self._address(), self._key()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        timeout = httpx.Timeout(self._server.seconds_to_wait, connect=_CONNECT_SECONDS)
        try:
            async with (
                httpx.AsyncClient(timeout=timeout) as client,
                client.stream("POST", f"{url}/{path}", json=body, headers=headers) as response,
            ):
                if response.status_code != 200:
                    raise self._refusal(response, await response.aread(), key)
                if "json" in response.headers.get("content-type", ""):  # it does not stream
                    yield self._event(await response.aread(), key)
                    return
                async for data in _data_lines(response.aiter_bytes()):
                    if data == b"[DONE]":
                        return
                    yield self._event(data, key)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise _Passing(
                f"nobody answers at {_shown(url)} ({_words(error)})",
                where=self._server.model,
                remedy="Start the server, or correct base_url in models.yaml",
            ) from None
        except httpx.TimeoutException:
            raise ServerTrouble(
                f"{_shown(url)} has said nothing for {self._server.seconds_to_wait:g} seconds",
                where=self._server.model,
                remedy="Try again, or raise seconds_to_wait in models.yaml",
            ) from None
        except httpx.InvalidURL as error:
            raise ServerTrouble(
                f"{_shown(url)} is no address ({_words(error)})",
                where=self._server.model,
                remedy="Correct base_url in models.yaml",
            ) from None
        except httpx.TransportError as error:
            raise _Passing(
                f"the connection to {_shown(url)} broke off ({_words(error)})",
                where=self._server.model,
                remedy="Try again",
            ) from None

    def _address(self) -> str:
        named = self._server.base_url_env
        url = (os.environ.get(named) if named else None) or self._server.base_url
        if url is None or not url.startswith(("http://", "https://")):
            seen = "is not set" if url is None else "holds no address"
            raise ServerTrouble(
                f"the environment variable {named} {seen}",
                where=self._server.model,
                remedy="Set it to the server's address, with http:// and up to /v1",
            )
        return url.rstrip("/")

    def _key(self) -> str | None:
        named = self._server.key_env
        key = os.environ.get(named, "").strip() if named else None
        if key is None or (key and key.isascii() and key.isprintable()):
            return key
        raise ServerTrouble(
            f"the environment variable {named} {'holds no key' if key else 'is not set'}",
            where=self._server.model,
            remedy="Set it to the server's key, or take key_env out of models.yaml",
        )

    def _event(self, data: bytes, key: str | None) -> dict[str, Any]:
        try:
            event = json.loads(data)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            raise ServerTrouble(
                f"the server's answer cannot be read: {_excerpt(data, key)}",
                where=self._server.model,
                remedy="Check that base_url is an OpenAI-compatible server's, up to /v1",
            )
        if event.get("error"):
            raise ServerTrouble(
                f"the server gave up: {_excerpt(data, key)}",
                where=self._server.model,
                remedy="Look at the server's log, or try again",
            )
        return event

    def _refusal(self, response: httpx.Response, said: bytes, key: str | None) -> ServerTrouble:
        status, where = response.status_code, self._server.model
        url = _shown(str(response.url))
        if status in (401, 403):
            named = self._server.key_env
            return ServerTrouble(
                f"{url} refuses the key ({status})" if named else f"{url} wants a key ({status})",
                where=where,
                remedy=f"Correct the environment variable {named}"
                if named
                else "Put it into an environment variable, and that one's name into key_env",
            )
        words = f"{url} answers {status}: {_excerpt(said, key)}"
        if status == 404:
            return ServerTrouble(
                words,
                where=where,
                remedy="Check base_url, which mostly ends with /v1, and the model's name there",
            )
        if status in _PASSING:
            trouble = _Passing(words, where=where, remedy="The server is busy: try again later")
            after = response.headers.get("retry-after", "")
            trouble.after = float(after) if after.isdecimal() else None
            return trouble
        return ServerTrouble(
            words, where=where, remedy="Check the server's keys in models.yaml, and its log"
        )


def pulled(events: Events, interrupted: Callable[[], bool]) -> Iterator[dict[str, Any]]:
    """`events` as a plain iterator, which ends early, and hangs up, once `interrupted` is true.

    Closing it hangs up as well. It runs a loop of its own: a thread that waits in a socket could
    not be told to stop.
    """
    loop = asyncio.new_event_loop()
    try:
        while not interrupted():
            following = asyncio.ensure_future(anext(events), loop=loop)
            while not following.done() and not interrupted():
                loop.run_until_complete(asyncio.wait({following}, timeout=_LOOK_SECONDS))
            if not following.done():
                following.cancel()
                loop.run_until_complete(asyncio.wait({following}))
                return
            try:
                event = following.result()
            except StopAsyncIteration:
                return
            yield event
    finally:
        loop.run_until_complete(events.aclose())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _data_lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """What follows `data:` on each line of a stream of server-sent events.

    Bytes are cut at line ends only: a chunk may end within a character, and a text may hold
    characters that count as line ends elsewhere.
    """
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                yield line[5:].strip()
    if rest.startswith(b"data:"):
        yield rest[5:].strip()


def _shown(url: str) -> str:
    """`url` without a name or a password in it."""
    try:
        parts = urlsplit(url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()
    except ValueError:
        return "base_url"


def _excerpt(said: bytes, key: str | None) -> str:
    """What the server said, short, and never with the key in it."""
    text = " ".join(said[:4096].decode("utf-8", "replace").split())
    text = text.replace(key, "…") if key else text
    try:
        told = json.loads(text)
        error = told.get("error") or told.get("message") or told.get("detail") or told
        text = str(error.get("message", error) if isinstance(error, dict) else error)
    except (ValueError, AttributeError):
        pass
    return (text if len(text) <= 200 else text[:199] + "…") or "nothing"


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
