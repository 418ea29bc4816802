"""What a model has already read: token prefixes with their key/value caches, kept across requests.

The next turn's prompt mostly extends the last one's, so only the rest has to be computed. Undo,
fork and an edited config are the same thing: some prefix is shared, whatever it is. Losing a cache
costs time and changes nothing else. Not thread-safe: the model's line is (see `agents.turnstile`).
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from agents.interruption import Interrupted

# A cache that would lose more tokens than this is copied as far as it is shared, not cropped:
# it may belong to another visitor, or to a turn that a person comes back to.
_SPARE = 256
_ROOM = 256


class GrowingLayer(DynamicLayer):
    """A cache layer with room at its end, so that one more token does not copy all before it."""

    _rooms: list[torch.Tensor]

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append states of shape (1, heads, new tokens, size); returns all of them."""
        start = self.get_seq_length()
        end = start + key_states.shape[-2]
        if not self.is_initialized or end > self._rooms[0].shape[-2]:
            self._grow(key_states, value_states, start, end)
        for room, states in zip(self._rooms, (key_states, value_states), strict=True):
            room[:, :, start:end] = states
        self.keys, self.values = (room[:, :, :end] for room in self._rooms)
        return self.keys, self.values

    def _grow(self, keys: torch.Tensor, values: torch.Tensor, start: int, end: int) -> None:
        rooms = [
            states.new_empty((*states.shape[:2], end + end // 4 + _ROOM, states.shape[-1]))
            for states in (keys, values)
        ]
        if start:
            rooms[0][:, :, :start], rooms[1][:, :, :start] = self.keys, self.values
        elif not self.is_initialized:
            self.lazy_initialization(keys, values)
        self._rooms = rooms

    def nbytes(self) -> int:
        return sum(room.nbytes for room in self._rooms) if self.is_initialized else 0


class Prefix:
    """Tokens that `model` has read, and the cache that resulted; it can be extended and cropped."""

    def __init__(self, model: Any) -> None:
        self.tokens: list[int] = []
        self._model = model
        self._cache = DynamicCache(config=model.config)
        if keeps_all_tokens(model):
            self._cache.layers = [GrowingLayer() for _ in self._cache.layers]

    def __len__(self) -> int:
        return len(self.tokens)

    def extend(self, tokens: Sequence[int], **pictures: torch.Tensor) -> torch.Tensor:
        """Read `tokens`; the logits after the last one, float32 on the CPU: (vocabulary).

        `pictures`: what the model takes besides, for the placeholders among the tokens.
        """
        output = self._forward(tokens, logits_to_keep=1, **self.placed(pictures))
        self.tokens += tokens
        return output[-1]

    def look_ahead(
        self, branches: Sequence[Sequence[int]], *, after: Sequence[int] = ()
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Read `after`, as `extend` does, and in the same pass look at what may follow it.

        All branches go as one sequence in which each sees the prefix and itself only; the prefix
        keeps none of them.

        Returns:
            the logits after the last token of `after`, (vocabulary), empty where there is none; and
            for each branch those after each of its tokens, (its tokens, vocabulary). All float32
            on the CPU.
        """
        lengths = [len(branch) for branch in branches]
        new, ahead = len(after), sum(lengths)
        if not ahead:
            logits = self.extend(after) if after else torch.empty(0)
            return logits, [torch.empty(0, 0) for _ in branches]
        start, device, dtype = len(self), self._model.device, self._model.dtype
        sees = torch.block_diag(*(torch.ones(n, n).tril() for n in (new, *lengths) if n)).bool()
        sees[new:, :new] = True
        mask = torch.zeros(new + ahead, start + new + ahead, dtype=dtype, device=device)
        mask[:, start:].masked_fill_(~sees.to(device), torch.finfo(dtype).min)
        positions = [*range(start, start + new)]
        positions += [start + new + at for length in lengths for at in range(length)]
        logits = self._forward(
            [*after, *(token for branch in branches for token in branch)],
            attention_mask=mask[None, None],
            position_ids=torch.tensor([positions], device=device),
            logits_to_keep=ahead + min(new, 1),
        )
        self._cache.crop(-ahead)
        self.tokens += after
        last, rest = logits[:-ahead], logits[-ahead:]
        return (last[0] if new else torch.empty(0)), list(rest.split(lengths))

    def look_along(self, branch: Sequence[int]) -> torch.Tensor:
        """The logits after each token of one branch, (its tokens, vocabulary).

        For models that count positions in a way of their own.
        """
        if not branch:
            return torch.empty(0, 0)
        logits = self._forward(branch)
        self._cache.crop(-len(branch))
        return logits

    def crop(self, length: int) -> None:
        """Forget all but the first `length` tokens."""
        self._cache.crop(length - len(self))  # the count of tokens to remove, as a negative number
        del self.tokens[length:]

    def copy(self, length: int) -> Prefix:
        """The first `length` tokens, in memory of their own."""
        copied = Prefix(self._model)
        copied.tokens = self.tokens[:length]
        for mine, its in zip(self._cache.layers, copied._cache.layers, strict=True):
            its.update(mine.keys[:, :, :length], mine.values[:, :, :length])
        return copied

    def nbytes(self) -> int:
        return sum(layer.nbytes() for layer in self._cache.layers)

    def placed(self, pictures: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """On the model's device, and pixels in its dtype."""
        device, dtype = self._model.device, self._model.dtype
        return {
            name: value.to(device, dtype if value.is_floating_point() else None)
            for name, value in pictures.items()
        }

    def _forward(self, tokens: Sequence[int], **options: Any) -> torch.Tensor:
        """Logits, float32 on the CPU: (as many of the last tokens as asked for, vocabulary)."""
        name = "cache"  # its name since transformers 5.20 or so; before, past_key_values
        if name not in inspect.signature(self._model.forward).parameters:
            name = "past_key_values"
        ids = torch.tensor([list(tokens)], device=self._model.device)
        try:
            with torch.inference_mode():
                output = self._model(
                    input_ids=ids, use_cache=True, **{name: self._cache}, **options
                )
        except Interrupted:
            for layer in self._cache.layers:  # some have read the tokens, some have not
                layer.crop(len(self) - layer.get_seq_length())
            raise
        logits: torch.Tensor = output.logits[0].float().cpu()
        return logits


class PrefixStore:
    """The prefixes at rest, oldest first, within `limit` bytes.

    The one that a request is using is not in here, and comes on top.
    """

    def __init__(self, model: Any, limit: int) -> None:
        self._model, self._limit = model, limit
        self._prefixes: list[Prefix] = []
        self._reusable = keeps_all_tokens(model)

    def take(self, tokens: Sequence[int]) -> Prefix:
        """The longest stored prefix of `tokens`, at least one token short of them, to be extended.

        The last token is always left to be read, because its logits are not stored.
        """
        best, shared = self._best(tokens)
        if best is None or not shared:
            return Prefix(self._model)
        if len(best) - shared > _SPARE:
            return best.copy(shared)
        self._prefixes.remove(best)
        best.crop(shared)
        return best

    def put(self, prefix: Prefix) -> None:
        """Keep `prefix` as the newest; the oldest go until all fit the limit again."""
        if self._reusable:
            self._prefixes.append(prefix)
        while self.nbytes() > self._limit:
            del self._prefixes[0]

    def nbytes(self) -> int:
        return sum(prefix.nbytes() for prefix in self._prefixes)

    def _best(self, tokens: Sequence[int]) -> tuple[Prefix | None, int]:
        lengths = [_shared(prefix.tokens, tokens[:-1]) for prefix in self._prefixes]
        if not lengths:
            return None, 0
        at = max(range(len(lengths)), key=lambda i: (lengths[i], -len(self._prefixes[i])))
        return self._prefixes[at], lengths[at]


def keeps_all_tokens(model: Any) -> bool:
    """Every layer attends to all tokens, so that a cache can be cropped to any length.

    Sliding windows and recurrent states forget; such a model works without reuse.
    """
    layers = DynamicCache(config=model.config).layers
    return bool(layers) and all(type(layer) is DynamicLayer for layer in layers)


def _shared(left: Sequence[int], right: Sequence[int]) -> int:
    """How many tokens the two begin with alike."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(left), len(right)))
