"""What tests of several tiers share. A part of a row is exchanged: what is known of it by hand, and that a part which nobody reads changes nothing."""

from __future__ import annotations

from workbench.tasks import make_task

MAJORITY = make_task("majority")
