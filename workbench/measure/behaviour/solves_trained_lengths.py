"""Whether a trained run fits its own training lengths, in one sentence."""

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
    """Accuracy of the last checkpoint at the longest training length, and whether that counts as fitted.

    By the rule of the verdict at its first look: skill over chance, on the matched law, at every one of N/4, N/2 and
    N. Nothing beyond the training lengths is looked at, and *not fitted* is said only of what is shown not to be.

    Args:
        run: a run with a checkpoint.
        sequences: strings per length; None = those of the first look.
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
    last = board.trained[-1]
    low, high = wilson(int(last.right), last.n)
    said = (
        f"accuracy at the longest training length {last.length}: {last.accuracy:.3f} [{low:.3f}, {high:.3f}], "
        f"n {last.n}, chance {last.floor:.2f}"
    )
    if board.fit == "pass":
        return f"{said}: fitted"
    return f"{said}: not fitted ({fit_note(board)})" if board.fit == "fail" else f"{said}; {fit_note(board)}"
