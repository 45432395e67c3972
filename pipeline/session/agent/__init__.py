"""The agent in the box: a small loop around a model and its tools, every step of which is an event of the log."""
