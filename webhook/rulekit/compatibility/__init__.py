"""What workloads have declared, and what of the possible shapes is not covered."""
