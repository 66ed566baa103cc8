"""Whether a trained run solves its own training lengths, in one sentence."""

from __future__ import annotations

from workbench.measure.behaviour.accuracy_cells import Cell, Rules
from workbench.measure.behaviour.interim_tests import LookBoard
from workbench.measure.behaviour.observed import reduce_batch
from workbench.measure.behaviour.verdict import fit_note
from workbench.measure.grid import make_grid
from workbench.measure.intervals import wilson
from workbench.measure.model_study import ModelStudy
from workbench.models.transformer.predicted_ids import next_id_hooks
from workbench.runs.run import Run


def fit_sentence(run: Run, sequences: int | None = None) -> str:
    """Return a sentence with the last checkpoint's accuracy at N, and whether the model solves the training lengths.

    The rule is the one of the verdict at its first interim test: skill over chance, on the matched test set, at N/4,
    N/2 and N. Nothing beyond the training lengths is evaluated. *Not fitted* is reported only if it is shown.

    Args:
        run: a run with a checkpoint.
        sequences: sequences per length; None = those of the first interim test.
    """
    rules, task, longest = Rules(), run.task, run.trained_length
    whole = make_grid(task, longest, shortest=run.shortest_trained)
    grid = type(whole)(longest, whole.inside, whole.inside, ())
    model = run.load()
    count = rules.looks[0] if sequences is None else sequences
    study = ModelStudy(model, task, grid, count, run.config["seeds"]["evaluation"])
    cells = {}
    for n in grid.inside:
        batch = study.batch("matched", n)
        seen = reduce_batch(study, n, batch, study.answers(batch, next_id_hooks(model.cfg)))
        right, floor = int(seen.correct.sum()), task.chance("matched", n)
        cells["matched", n] = Cell("matched", n, right, len(seen.correct), floor)
    board = LookBoard(grid, rules, cells)
    board.settle()
    last = board.trained_cells[-1]
    low, high = wilson(int(last.right), last.n)
    sentence = (
        f"accuracy at the longest training length {last.length}: {last.accuracy:.3f} [{low:.3f}, {high:.3f}], "
        f"n {last.n}, chance {last.floor:.2f}"
    )
    if board.fit == "pass":
        return f"{sentence}: fitted"
    return f"{sentence}: not fitted ({fit_note(board)})" if board.fit == "fail" else f"{sentence}; {fit_note(board)}"
