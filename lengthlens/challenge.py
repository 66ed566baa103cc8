"""The open challenge: models with a planted cause of failure, and the scores of answers: the public names of
:mod:`workbench.diagnosis.challenge`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthlens._forwarding import forwarding

if TYPE_CHECKING:
    from workbench.diagnosis.challenge import *

__getattr__, __dir__ = forwarding("workbench.diagnosis.challenge")
