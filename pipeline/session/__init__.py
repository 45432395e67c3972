"""Sessions of a coding agent: their logs, and what a session showed."""
