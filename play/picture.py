"""An episode as an animated GIF: a picture a turn, with the action and the reward beneath."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from envs.sokoban import ACTION_NAMES, rgb
from errors import UserError
from play.episode import Episode

# Larger boards get smaller tiles, so that no side of the picture is longer (in pixels).
_LONGEST_SIDE = 1024
_HOLD = 2500  # milliseconds, of the last picture
_PACK = np.array([65536, 256, 1], np.int32)  # a colour as one number
_INK, _PAPER = (32, 33, 36), (250, 250, 248)


def as_gif(episode: Episode, tile: int = 32, milliseconds: int = 400) -> bytes:
    """An animated GIF of the episode, endless: the level, then a picture a turn, the last one held.

    Under the board a strip names the turn, its action and its reward.

    Args:
        tile: side of a cell in pixels, made smaller where the board would be over 1,024 pixels.
        milliseconds: how long each picture stands; a GIF counts in hundredths of a second.

    Raises:
        UserError: a tile or a time that is not positive.
    """
    for name, number in (("tile", tile), ("milliseconds", milliseconds)):
        if number < 1:
            raise UserError(f"{name} is {number}", where="GIF", remedy="Give a positive number")
    first = episode.level.board
    tile = max(1, min(tile, _LONGEST_SIDE // max(first.rows, first.columns)))
    boards = [first, *(turn.after.board for turn in episode.turns)]
    pictures = [rgb(board, tile=tile) for board in boards]
    captions = _captions(episode)
    font = _font(captions, pictures[0].shape[1])
    strip = 2 * round(font.size)
    frames = [
        _frame(picture, caption, font, strip)
        for picture, caption in zip(pictures, captions, strict=True)
    ]
    flat = _indexed(frames)
    data = io.BytesIO()
    flat[0].save(
        data,
        "GIF",
        save_all=True,
        append_images=flat[1:],
        duration=[milliseconds] * (len(flat) - 1) + [max(milliseconds, _HOLD)],
        loop=0,
        disposal=1,
        optimize=False,
    )
    return data.getvalue()


def _captions(episode: Episode) -> list[str]:
    """In the environment's own words, since the font has no letters but Latin ones."""
    captions = ["start"]
    for number, turn in enumerate(episode.turns, start=1):
        action = "INVALID" if turn.problem else ACTION_NAMES[turn.action]
        captions.append(f"turn {number}: {action}  {float(turn.reward):+g}")
    if episode.solved:
        captions[-1] += "  solved"
    return captions


def _font(captions: Sequence[str], width: int) -> ImageFont.FreeTypeFont:
    """The largest font, 8 to 15 pixels high, in which every caption fits."""
    size = 15
    while size > 8 and max(_new_font(size).getlength(text) for text in captions) > width - 8:
        size -= 1
    return _new_font(size)


def _new_font(size: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont), "a size was asked for"
    return font


def _frame(
    picture: NDArray[np.uint8], caption: str, font: ImageFont.FreeTypeFont, strip: int
) -> Image.Image:
    height, width, _ = picture.shape
    frame = Image.new("RGB", (width, height + strip), _PAPER)
    frame.paste(Image.fromarray(picture), (0, 0))
    ImageDraw.Draw(frame).text((4, height + strip // 2), caption, _INK, font, anchor="lm")
    return frame


def _indexed(frames: Sequence[Image.Image]) -> list[Image.Image]:
    """The frames in one palette of at most 256 colours, the most frequent ones exactly as they are.

    Nothing is dithered: a flat colour stays flat. Boards have few flat colours and many mixed ones
    at the edges, so those that find no room, and take the nearest, are the ones seen least.
    (Pillow's own `quantize` rounds colours to steps of four, which shows.)
    """
    counts: Counter[tuple[int, int, int]] = Counter()
    for frame in frames:
        for count, colour in frame.getcolors(frame.width * frame.height) or ():
            counts[colour] += count  # type: ignore[index]
    colours = np.array([colour for colour, _ in counts.most_common()], np.int32)
    kept = colours[:256]
    nearest: NDArray[np.uint8] = np.zeros(1 << 24, np.uint8)
    for colour, packed in zip(colours, colours @ _PACK, strict=True):
        nearest[packed] = np.argmin(((kept - colour) ** 2).sum(axis=1))
    flat = []
    for frame in frames:
        image = Image.fromarray(nearest[np.asarray(frame) @ _PACK])
        image.putpalette(kept.astype(np.uint8).tobytes())
        flat.append(image)
    return flat
