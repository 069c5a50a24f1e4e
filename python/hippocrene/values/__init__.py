"""Plain values: reading and checking operands and options, and exact numbers."""
