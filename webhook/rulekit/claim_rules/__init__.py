"""The organisation's own rules in CEL: their variables, what they are asked about."""
