"""What tests of several tiers share. Syntactic monoids: the published table, brute force over words, and the chain of classes."""

from __future__ import annotations


def yes(value: bool) -> str:
    return "yes" if value else "no"
