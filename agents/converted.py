"""A GGUF file as a transformers tokenizer and model, converted once and kept.

Reading a GGUF file's vocabulary and weights takes transformers half a minute; reading its own
format takes a second. So the converted files are kept in the user's cache folder, by the file's
size and bytes and the versions of the libraries. Where they cannot be kept, they are converted each
time; what is loaded is the same either way.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

# How many conversions of one file name stay: each takes some hundred megabytes.
_KEPT = 3
_END = 2**20


def load_converted_tokenizer(file: Path) -> Any:
    """The tokenizer, with its chat template, inside the GGUF `file`."""
    from transformers import PreTrainedTokenizerFast

    return _load_kept(
        file,
        "tokenizer",
        kept=lambda folder: PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True),
        converted=lambda: convert_tokenizer(file),
    )


def convert_tokenizer(file: Path) -> Any:
    """The tokenizer as transformers itself reads it from the GGUF `file`, which takes long."""
    from transformers import AutoTokenizer  # brings torch with it, which the kept one does not need

    return AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)


def load_converted_model(file: Path, dtype: str) -> Any:
    """The weights inside the GGUF `file`, unpacked to `dtype`, on the CPU."""
    from transformers import AutoModelForCausalLM

    _without_bars()
    return _load_kept(
        file,
        f"model-{dtype}",
        kept=lambda folder: AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, local_files_only=True
        ),
        converted=lambda: AutoModelForCausalLM.from_pretrained(
            file.parent, gguf_file=file.name, dtype=dtype, **_unpacked()
        ),
    )


def _without_bars() -> None:
    """No progress bars: they would run through a command's output and a server's log."""
    import transformers.modeling_gguf_pytorch_utils as reader
    from transformers.utils import logging

    logging.disable_progress_bar()
    reader.tqdm = lambda tensors, **_: tensors  # this one does not heed the switch


def _unpacked() -> dict[str, Any]:
    """Plain weights: the packed ones need kernels that no CPU has, and say so at every start."""
    import transformers

    config = getattr(transformers, "GgufConfig", None)  # older versions always unpack
    return {} if config is None else {"quantization_config": config(dequantize=True)}


def _load_kept(
    file: Path, part: str, *, kept: Callable[[Path], Any], converted: Callable[[], Any]
) -> Any:
    folder = cache_folder() / file.stem / _key(file) / part
    if folder.is_dir():
        try:
            return kept(folder)
        except Exception:  # damaged, or of a version that the key does not tell: convert again
            shutil.rmtree(folder, ignore_errors=True)
    loaded = converted()
    with contextlib.suppress(OSError), _new_folder(folder) as unfinished:
        _without_gguf(loaded).save_pretrained(unfinished)
    return loaded


def _without_gguf(loaded: Any) -> Any:
    """A model that was unpacked is no longer quantised, and must not be saved as if it were."""
    if hasattr(loaded, "config"):
        loaded.hf_quantizer = None
        if hasattr(loaded.config, "quantization_config"):
            del loaded.config.quantization_config
    return loaded


@contextlib.contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """A folder that appears as `folder` when it is complete, or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f"{folder.name}."))
    try:
        yield unfinished
        unfinished.chmod(0o755)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    # Other files and other versions, of other environments, have theirs beside; the oldest go.
    known = sorted(folder.parent.parent.iterdir(), key=lambda other: other.stat().st_mtime)
    for other in known[:-_KEPT]:
        shutil.rmtree(other, ignore_errors=True)


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "prompt-playground"


def _key(file: Path) -> str:
    """The same for equal files wherever they are installed: by size and both ends' bytes."""
    size = file.stat().st_size
    with file.open("rb") as opened:
        ends = opened.read(_END)
        opened.seek(max(0, size - _END))
        ends += opened.read(_END)
    facts = [str(size), hashlib.sha256(ends).hexdigest()]
    for library in ("transformers", "tokenizers", "gguf", "torch"):
        with contextlib.suppress(PackageNotFoundError):
            facts.append(f"{library} {version(library)}")
    return hashlib.sha256(" ".join(facts).encode()).hexdigest()[:16]
