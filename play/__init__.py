"""The episode value and what is done with it: playing, saving, loading, the command line."""

from play.episode import Episode
from play.storage import EpisodeFileError, load_episode, save_episode
from play.turn import Turn, Verdict

__all__ = ["Episode", "EpisodeFileError", "Turn", "Verdict", "load_episode", "save_episode"]
