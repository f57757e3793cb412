"""A tier's list in a claim: making it, recording it, taking it out again."""
