"""Worlds as Gymnasium environments that also speak text."""
