"""Selectors and constraints as their author wrote them: what they hit, miss and mean."""
