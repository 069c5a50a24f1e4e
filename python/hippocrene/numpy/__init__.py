"""numpy's functions of encrypted arrays, in terms of their operations."""
