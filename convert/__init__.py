"""Checkpoint conversion. It stands on domino_jax, which never imports it."""
