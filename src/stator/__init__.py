"""Run LLM inference graphs whose parts are at different versions."""

__version__ = "0.1.0"
