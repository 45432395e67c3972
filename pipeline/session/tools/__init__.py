"""The tools of the agent in the box, each in a file of its own."""
