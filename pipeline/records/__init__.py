"""Frozen models of everything that is written down. No I/O, no clock."""
