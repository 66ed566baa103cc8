"""What tests of several tiers share. Arithmetic modulo a number and even pairs: labels, laws and floors against Python itself."""

from __future__ import annotations

MANY = 20_000
