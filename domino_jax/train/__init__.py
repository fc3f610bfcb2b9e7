"""Training of DFlash and Domino drafters. `python -m domino_jax.train` is the command; `objective.py` the page to read first."""
