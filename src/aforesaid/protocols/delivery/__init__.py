"""Causal delivery: everything said names its audience. A module opens with its paper and our deviations."""
