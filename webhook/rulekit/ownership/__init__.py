"""Who hands out a node's devices, who asks for them, and where both do."""
