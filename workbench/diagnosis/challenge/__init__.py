"""The open challenge: models with a planted cause of failure, answers to them, and how answers are scored.

The names below are loaded on first use, so that importing the package needs no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.lazy import face

if TYPE_CHECKING:
    from workbench.diagnosis.challenge.answer_file import Answer, read_answers, write_answers
    from workbench.diagnosis.challenge.challenge_folder import Challenge, ChallengeModel, open_challenge
    from workbench.diagnosis.challenge.errors import ChallengeError
    from workbench.diagnosis.challenge.scoring import Scores, score_answers
    from workbench.diagnosis.challenge.truth import Truth, read_truth

__all__ = [
    "Answer",
    "Challenge",
    "ChallengeError",
    "ChallengeModel",
    "Scores",
    "Truth",
    "open_challenge",
    "read_answers",
    "read_truth",
    "score_answers",
    "write_answers",
]

__getattr__, __dir__ = face(
    __name__,
    {
        "Answer": "answer_file",
        "Challenge": "challenge_folder",
        "ChallengeError": "errors",
        "ChallengeModel": "challenge_folder",
        "Scores": "scoring",
        "Truth": "truth",
        "open_challenge": "challenge_folder",
        "read_answers": "answer_file",
        "read_truth": "truth",
        "score_answers": "scoring",
        "write_answers": "answer_file",
    },
)
