"""Which number format a model runs in: the fastest here that still answers as float32 does.

It is tried once for a model and a machine, on a short fixed prompt, and the verdict is kept in the
user's cache folder. What the answers are worth is not this module's concern, only that they agree.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import platform
import time
from collections.abc import Callable
from typing import Any

import torch

from agents.converted import cache_folder

# Tokens of no meaning: what counts is that both formats make the same of them.
_PROMPT_TOKENS, _STEPS = 96, 8
# A format must be clearly quicker, or the verdict would follow what else the machine is doing.
_MARGIN = 0.85


def fastest(model: Any, source: str, device: str) -> Any:
    """`model` (float32, on the CPU) on `device`, in the dtype that `choose` finds, or found before.

    Args:
        source: tells this model's weights from others'.
    """
    file = cache_folder() / "dtypes" / _key(source, device)
    with contextlib.suppress(OSError, AttributeError):
        return model.to(device, getattr(torch, file.read_text(encoding="ascii").strip()))
    chosen = choose(model, device)
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(str(chosen.dtype).removeprefix("torch."), encoding="ascii")
    return chosen


def choose(model: Any, device: str, clock: Callable[[], float] = time.perf_counter) -> Any:
    """`model` (float32, on the CPU) on `device`, in the fastest dtype that answers alike."""
    exact = model.to(device)
    short = copy.deepcopy(exact).to(_short(device))
    wanted, slow = _trial(exact, clock)
    answered, fast = _trial(short, clock)
    return short if answered == wanted and fast < _MARGIN * slow else exact


def _short(device: str) -> torch.dtype:
    if device == "mps" or (device == "cuda" and not torch.cuda.is_bf16_supported()):
        return torch.float16
    return torch.bfloat16


def _trial(model: Any, clock: Callable[[], float]) -> tuple[list[int], float]:
    """The likeliest tokens after a fixed prompt, and the seconds of the quickest of three runs."""
    size = model.config.get_text_config().vocab_size
    ids = torch.tensor([[(7919 * n + 11) % size for n in range(_PROMPT_TOKENS)]])
    ids = ids.to(model.device)
    times, tokens = [], []
    for _ in range(3):
        began = clock()
        with torch.inference_mode():
            produced = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                do_sample=False,
                pad_token_id=0,
                min_new_tokens=_STEPS,
                max_new_tokens=_STEPS,
            )
        tokens = produced[0, _PROMPT_TOKENS:].tolist()  # waits for the device
        times.append(clock() - began)
    return tokens, min(times)


def _key(source: str, device: str) -> str:
    if device == "cuda":
        machine = torch.cuda.get_device_name()
    else:
        machine = f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"
    facts = [source, device, machine, str(torch.get_num_threads()), torch.__version__]
    return hashlib.sha256(" ".join(facts).encode()).hexdigest()[:16]
