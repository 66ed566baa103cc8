"""What tests of several tiers share. Strings of a stratum, drawn on purpose: counted here by hand, and compared with the law given the stratum."""

from __future__ import annotations

BOTH = ("matched", "challenge")
