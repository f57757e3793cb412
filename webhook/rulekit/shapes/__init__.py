"""What a request may be given: models, shapes, and the allocator's own search."""
