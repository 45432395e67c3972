"""Dataset evaluations: define, run, summarise. Knows no Ray; reaches it through the engine."""
