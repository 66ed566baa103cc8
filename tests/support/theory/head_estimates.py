"""What tests of several tiers share. Fitting a limit transformer to measured scores: exact where there is one, and honest where there is none."""

from __future__ import annotations

from tests.support.theory.limit_models import strings

PROBES = strings(24, 60)
