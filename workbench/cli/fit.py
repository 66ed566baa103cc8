"""Whether a trained run fits its own training lengths, in one sentence."""

from __future__ import annotations

from workbench.core.thresholds import FITTED
from workbench.measure.behaviour import reduce_batch, skill_of
from workbench.measure.grid import make_grid
from workbench.measure.intervals import wilson
from workbench.measure.study import CheckpointStudy, Evaluation, forward
from workbench.models.coupling import next_id_hooks
from workbench.runs.folder import Run

SEQUENCES = 512


def fit_sentence(run: Run, sequences: int = SEQUENCES) -> str:
    """Accuracy of the last checkpoint at the longest training length, and whether that counts as fitted.

    By the rule of the verdict: the lower limit of skill over chance, on the matched law, at every one of
    N/4, N/2 and N. Nothing beyond the training lengths is looked at.
    """
    task, longest = run.task, run.trained_length
    whole = make_grid(task, longest)
    grid = type(whole)(longest, whole.inside, whole.inside, ())
    model = run.load(run.steps[-1])
    evaluation = Evaluation(task, grid, run.config["seeds"]["evaluation"], sequences)
    study = CheckpointStudy(run, run.steps[-1], model, evaluation, sequences)
    seen = {}
    for n in grid.inside:
        batch = evaluation.batch("matched", n)
        seen[n] = reduce_batch(study, "matched", n, batch, forward(model, batch, next_id_hooks(model.cfg)))
    last = seen[grid.inside[-1]]
    right, count = int(last.correct.sum()), len(last.correct)
    low, high = wilson(right, count)
    said = (
        f"accuracy at the longest training length {grid.inside[-1]}: {right / count:.3f} [{low:.3f}, {high:.3f}], "
        f"n {count}, chance {last.chance:.2f}"
    )
    skills = {n: skill_of(found, "matched", tests=1, unseen=False) for n, found in seen.items()}
    known = {n: skill.low for n, skill in skills.items() if skill is not None}
    if len(known) < len(skills):
        return f"{said}: a guess answers nearly always, so nothing shows whether it fits"
    worst = min(known, key=lambda n: known[n])
    if known[worst] >= FITTED:
        return f"{said}: fitted"
    where = f"the lower limit of skill over chance is {known[worst]:.2f} at length {worst}"
    return f"{said}: not fitted ({where}; fitted needs {FITTED})"
