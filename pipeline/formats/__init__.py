"""Text to plain values and back. Knows no record and does no I/O."""
