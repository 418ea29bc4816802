"""From history to the exact prompt, and from response to action, by the ROLL / MARSHAL guide.

Knows no game, no model and no web page.
"""

from prompting.formatter import Content, HistoryError, ImagePart, Origin, Piece, format_messages
from prompting.parser import (
    INVALID,
    ParsedResponse,
    canonical_response,
    complete_response,
    parse_response,
)
from prompting.spans import Change, Span
from prompting.template import (
    Prompt,
    TemplateRefusal,
    Tokenizer,
    render_prompt,
    with_sampled_ids,
)

__all__ = [
    "INVALID",
    "Change",
    "Content",
    "HistoryError",
    "ImagePart",
    "Origin",
    "ParsedResponse",
    "Piece",
    "Prompt",
    "Span",
    "TemplateRefusal",
    "Tokenizer",
    "canonical_response",
    "complete_response",
    "format_messages",
    "parse_response",
    "render_prompt",
    "with_sampled_ids",
]
