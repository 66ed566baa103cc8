"""Rows as figures take them: columns, picking, and the claims read from them."""
