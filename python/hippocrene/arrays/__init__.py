"""Encrypted arrays and lazy views of their elements."""
