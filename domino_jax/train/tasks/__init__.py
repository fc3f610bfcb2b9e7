"""Prompts of everyday use, made of own templates, for a target to answer: what a drafter is trained on where no prompts are at hand."""
