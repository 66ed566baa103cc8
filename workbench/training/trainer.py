"""The training loop: it can be interrupted at any moment and resumes bit-identically."""

from __future__ import annotations

import io
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from workbench.core.errors import LensError
from workbench.jobs.resources import available_memory
from workbench.models.architectures import make_model
from workbench.models.base.hooked import Hooked
from workbench.models.base.mixer_stack import State as LayerState
from workbench.models.compute_device import ComputeDevice
from workbench.models.errors import PositionError
from workbench.models.transformer.predicted_ids import ids_right, outputs_and_ids
from workbench.runs.checkpoints import remove_unfinished, sha256, write_checkpoint, write_config
from workbench.runs.errors import RunError
from workbench.runs.live_log import Live
from workbench.runs.lock import writer_lock
from workbench.runs.run import Run
from workbench.runs.timing import Stopwatch
from workbench.runs.weights import fill, weights_bytes
from workbench.storage.atomic import require_room
from workbench.storage.below import remove_file
from workbench.tasks.base import Batch, Task, TaskError
from workbench.tasks.random_generator import generator
from workbench.tasks.testing.brief import refuse_unsound
from workbench.training.averaged_weights import AveragedWeights
from workbench.training.carried_states import carried_states
from workbench.training.compare_configs import as_begun, gives_way, refuse_another
from workbench.training.config import RunConfig, versions
from workbench.training.errors import TrainingError
from workbench.training.length_groups import group_sizes
from workbench.training.optimizer import learning_rate, make_optimizer
from workbench.training.regularizers import outputs_and_penalty
from workbench.training.resume import NAME, State, load_state, save_state, state_bytes
from workbench.training.starting_weights import StartingWeights
from workbench.training.task_schedule import task_at
from workbench.training.training_batch import pool_of, training_batch, training_groups

RESUME_EVERY_S = 30.0
FETCH_EVERY = 16
"""Updates between two checks that losses are finite on a device other than the CPU. Each check waits for the device."""
CHECKPOINT_EXTRA = 1 << 14
"""Bytes of a checkpoint without its weights: ``meta.json``, ``log.parquet``, and folders."""
LOG_LINES = 200
"""Lines of a training's log, without those of its checkpoints."""
SCORED_SEQUENCES = 128
STOP_LENGTHS = 3
"""The number of longest trained lengths that early stopping evaluates."""
SCORES = ("loss", "penalty", "lr", "accuracy_in", "accuracy_out")
LOG = pa.schema([("step", pa.int64()), *((k, pa.float64()) for k in SCORES)])


COPIES = 4
"""Tensors of the size of the weights during training: weights, gradients, and two moments of the optimizer."""


class Stopped(LensError):
    """Raised when training was interrupted (SIGTERM or Ctrl-C) and has saved its state."""


@runtime_checkable
class Watcher(Protocol):
    """Receives the progress of training; see ``workbench.cli.progress``."""

    def __call__(self, step: int, scores: dict[str, float | None]) -> None: ...


class Update(NamedTuple):
    """Scores of one update, still on the device that computes them.

    Attributes:
        step: its step.
        rate: its learning rate.
        whole: the loss with penalties.
        loss: that of the task.
        penalty: the sum that regularizers add, or None.
        right: share of right answers, or None if there is no watcher.
    """

    step: int
    rate: float
    whole: torch.Tensor
    loss: torch.Tensor
    penalty: torch.Tensor | None
    right: torch.Tensor | None


class Trainer:
    """Trains one run in one folder.

    Args:
        config: task, model, training and seeds.
        folder: the run's folder; made if missing, resumed if it contains this very run.
        watcher: called after every update with the step and the latest scores: those of the log, and ``accuracy``.
            ``accuracy`` is the share of right answers on the batch that ``loss`` is computed on. On a device other than
            the CPU the scores are those of one of the last :data:`FETCH_EVERY` updates.
        device: which device of the type that the config names, e.g. cuda:1; "" = the first.
        start: the initial weights, if the config names some.

    Raises:
        RunError: if the folder contains something else, or another process is writing to it.
        DeviceError: if the device does not exist.
    """

    def __init__(
        self,
        config: RunConfig,
        folder: Path,
        watcher: Watcher | None = None,
        device: str = "",
        start: StartingWeights | None = None,
    ) -> None:
        self.config, self.folder, self.watcher = config, folder, watcher
        self.device = ComputeDevice(device or config.training.device).resolve().device
        self.task, self.training, self.seeds = config.task, config.training, config.seeds
        self.schedule = self.training.planned_steps
        self.live = Live(folder)
        self.start = start
        self.pool = pool_of(self.config)
        self.average: AveragedWeights | None = None
        self.stopping = False
        self.batch_accuracy: float | None = None
        self._unread: list[Update] = []
        self._strict = self.training.device == "cuda"

    def run(self) -> Run:
        """Train to the last step, or to an early stop, and return the run.

        Raises:
            Stopped: after SIGTERM or Ctrl-C, with everything saved; the same call resumes the run.
            TaskCheckError: if a user's own task violates the rules for tasks; nothing is written then.
        """
        if not self._begun():
            refuse_unsound(self.task)
            self._given()
        with writer_lock(self.folder):
            run = self._open()
            remove_unfinished(self.folder)
            self._check(run)
            if not run.finished:
                self._train(run)
            # Here also where the run had been killed after its last checkpoint.
            remove_file(self.folder, NAME)
            self.live.remove()
        return run

    def _begun(self) -> bool:
        """Whether the folder holds checkpoints."""
        try:
            return bool(Run.open(self.folder).steps)
        except RunError:  # none, or one that is refused when it is opened for writing
            return False

    def _check(self, run: Run) -> None:
        """Refuse to resume from a damaged checkpoint."""
        for step in run.steps:
            try:
                run.verify(step)
            except RunError as error:
                raise RunError(
                    f"{error}; restore it, or delete its folder to resume from an earlier checkpoint"
                ) from None

    def _train(self, run: Run) -> None:
        """Train from the latest saved step."""
        torch.set_num_threads(self.training.threads)
        if self.training.device == "cuda":  # sums in one order, as far as its kernels have one
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            torch.use_deterministic_algorithms(True, warn_only=True)
        require_memory(self.config)
        self.model = make_model(self.config.model, seed=self.seeds.init).to(self.device)
        # In the order in which a norm adds them up; walking through all modules again at each step takes time.
        self._parameters = list(self.model.parameters())
        self.optimizer = make_optimizer(self.model, self.training)
        decay = self.training.average_weights
        self.average = AveragedWeights(self.model, decay) if decay else None
        require_room(self.folder, self._room(run))
        stored = load_state(self.folder, run.id, self.model, self.optimizer, self._averaged)
        self.state = stored or self._from_the_start()
        self.live.restart(self.state.log)
        with self._signals():
            self._loop(run)

    @property
    def _averaged(self) -> Hooked | None:
        """The model with averaged weights, if the run has one."""
        return self.average.model if self.average else None

    @property
    def measured_model(self) -> Hooked:
        """The model of checkpoints and accuracies: the averaged one, if the run has one."""
        return self._averaged or self.model

    def _given(self) -> dict[str, torch.Tensor] | None:
        """The initial weights, or None if they are random.

        Raises:
            TrainingError: if they were not given, are not those that the config names, or do not fit.
        """
        named = self.training.start
        if named is None and self.start is None:
            return None
        if self.start is None or named != self.start.start:
            whose = f"run {named.run} at step {named.step}" if named else "no other run"
            raise TrainingError(f"{self.folder} was started from the weights of {whose}; give --start RUN@STEP again")
        return self.start.initial_weights(self.task, self.config.model)

    def _from_the_start(self) -> State:
        """The state at step 0, with the given initial weights if there are some."""
        if (weights := self._given()) is not None:
            fill(self.model, weights, "to start from")
            if self.average:
                self.average.restart()
        return State()

    def _room(self, run: Run) -> int:
        """Bytes that the rest of the run needs: its checkpoints, and two resume files while one replaces the other."""
        weights = sum(int(p.numel() * p.element_size()) for p in self.model.state_dict().values())
        missing = len(set(self.schedule) - set(run.steps))
        stored = 4 if self.average else 3
        return missing * (weights + CHECKPOINT_EXTRA) + 2 * stored * weights

    def _open(self) -> Run:
        """The run in the folder: this run, begun or new. Another run is replaced if it ended before its first
        checkpoint.
        """
        if not (self.folder / "run.json").exists():
            write_config(self.folder, self.config.as_json())
        run = Run.open(self.folder)
        if gives_way(run, self.config):
            # What it left is of step 0.
            remove_file(self.folder, NAME)
            self.live.remove()
            write_config(self.folder, self.config.as_json())
            run = Run.open(self.folder)
        refuse_another(run, self.config)
        self.config = as_begun(run, self.config)
        self.task = self.config.task
        self.pool = pool_of(self.config)  # of the task as it was when the run was begun
        return run

    def _loop(self, run: Run) -> None:
        last_resume = time.monotonic()
        watch = Stopwatch(self.folder, self.state.step)
        due = set(self.schedule)
        lengths = self.training.curriculum.possible(self.task, self.training.steps)[-STOP_LENGTHS:]
        while True:
            step = self.state.step
            ended = self._ended(step, lengths)
            checkpoint = step in due or bool(ended)
            if checkpoint or step % FETCH_EVERY == 0:
                self._fetch()
            if checkpoint:
                self._refuse_infinite(step)
            # Before the checkpoint, so that whatever has one is never computed again.
            if checkpoint or self.stopping or time.monotonic() - last_resume > RESUME_EVERY_S:
                self._fetch()
                save_state(self.folder, run.id, self.model, self.optimizer, self.state, self._averaged)
                watch.note(step)
                last_resume = time.monotonic()
            if checkpoint:
                self.state.scores |= self._score()
                self._log(step)
                self._checkpoint(run, step, ended)
                self.live.restart()
            if step >= self.training.steps or ended:
                return
            if self.stopping:
                raise Stopped(f"stopped at step {step:,} of {self.training.steps:,}; run the same command to resume")
            self._update(step)
            if step % max(1, self.training.steps // LOG_LINES) == 0:
                self._fetch()
                self._log(step)
            if self.watcher:
                self.watcher(self.state.step, self.state.scores | {"accuracy": self.batch_accuracy})

    def batch(self, step: int) -> tuple[Batch, torch.Tensor]:
        """Return the batch of update ``step`` and its position ids. Both depend only on the data seed and the step.

        If the run has a fixed number of sequences, the batch is sampled from its pool. Position ids are drawn each
        time.

        Raises:
            TrainingError: if batches are divided into groups of several lengths; use :meth:`groups` then.
        """
        return training_batch(self.config, step, self.pool)

    def groups(self, step: int) -> list[tuple[Batch, torch.Tensor]]:
        """Return :meth:`batch` as one group for each length that ``training.lengths_per_batch`` states."""
        return training_groups(self.config, step, self.pool)

    def task_at(self, step: int) -> Task:
        """The task of update ``step``: the run's own, except for parameters that are still changing towards it."""
        return task_at(self.task, self.training.task_schedule, step)

    def _update(self, step: int) -> None:
        groups = self.groups(step)
        for _, ids in groups:
            self.state.see(ids)
        if self.device != "cpu":
            groups = [(batch.to(self.device), ids.to(self.device)) for batch, ids in groups]
        rate = learning_rate(self.training, step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        try:
            with self._deterministically():
                update = self._gradients(step, rate, groups)
        except RuntimeError as error:
            if not self._strict or "deterministic" not in str(error):
                raise
            self._strict = False  # an operation of this run has no deterministic kernel: from now on torch only warns
            update = self._gradients(step, rate, groups)
        self._unread.append(update)
        if self.device == "cpu":
            self._fetch()
        if self.training.clip:
            torch.nn.utils.clip_grad_norm_(self._parameters, self.training.clip)
        self.optimizer.step()
        if self.average:
            self.average.update()
        self.state.step = step + 1

    def _gradients(self, step: int, rate: float, groups: Sequence[tuple[Batch, torch.Tensor]]) -> Update:
        """Compute the loss of one batch, the mean over its sequences, and leave its gradients at the parameters."""
        task = self.task_at(step)
        sequences = sum(len(batch) for batch, _ in groups)
        parts, answers = [], []
        self.optimizer.zero_grad(set_to_none=True)
        with self._numbers():
            starts = self._carried_states(step, len(groups))
        for (batch, ids), start in zip(groups, starts, strict=True):
            with self._numbers():
                outputs, penalty = outputs_and_penalty(self.model, batch, ids, self.training.regularizers, start)
            outputs = outputs.float() if outputs.dtype == torch.bfloat16 else outputs
            loss = task.loss(outputs, batch)
            whole = loss if penalty is None else loss + penalty
            if self.watcher:
                answers.append(task.correct(outputs.detach(), batch)[batch.mask])
            share = len(batch) / sequences  # exactly 1 for one group
            (share * whole).backward()
            parts.append([share * each.detach() for each in (whole, loss, *([] if penalty is None else [penalty]))])
        whole, loss, *penalties = (torch.stack(each).sum() for each in zip(*parts, strict=True))
        right = torch.cat(answers).double().mean() if answers else None
        return Update(step, rate, whole, loss, penalties[0] if penalties else None, right)

    def _carried_states(self, step: int, groups: int) -> list[list[LayerState] | None]:
        """The states with which the sequences of each group begin; None = those of an empty sequence."""
        carried = self.training.carried_states
        if carried == "none" or step == 0:
            return [None] * groups
        befores = [batch if self.device == "cpu" else batch.to(self.device) for batch, _ in self.groups(step - 1)]
        seed = self.seeds.data_at(step)
        return [carried_states(self.model, before, carried, seed, step, i) for i, before in enumerate(befores)]

    @contextmanager
    def _deterministically(self) -> Iterator[None]:
        """On cuda, refuse kernels that sum in any order: if torch only warned, attention would choose one of them."""
        if not self._strict:
            yield
            return
        torch.use_deterministic_algorithms(True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(True, warn_only=True)

    def _numbers(self) -> AbstractContextManager[Any]:
        """The context that sets the dtype of matrix products in an update."""
        if self.training.dtype == "float32":
            return nullcontext()
        return torch.autocast(self.device.partition(":")[0], dtype=torch.bfloat16)

    def _fetch(self) -> None:
        """Fetch the scores of the last update. Only this call waits for the device.

        Raises:
            RunError: if the loss of an update since the last call is not finite.
        """
        if not self._unread:
            return
        finite = torch.stack([update.whole for update in self._unread]).isfinite().tolist()
        for update, good in zip(self._unread, finite, strict=True):
            if not good:
                raise RunError(
                    f"{self.folder}: the loss is no longer finite at step {update.step}; lower the learning rate"
                )
        last, self._unread = self._unread[-1], []
        self.state.scores |= {"loss": float(last.loss), "lr": last.rate}
        if last.penalty is not None:
            self.state.scores["penalty"] = float(last.penalty)
        if last.right is not None:
            self.batch_accuracy = float(last.right)

    @torch.no_grad()
    def _ended(self, step: int, lengths: Sequence[int]) -> str:
        """Why training ends early at ``step``, or "" if it continues."""
        stop = self.training.early_stop
        if stop is None or step >= self.training.steps or not stop.due(step, self.training.constant_from):
            return ""
        found = [self._accuracy(n, stop.sequences, "early stop", step) for n in lengths]
        self.state.streak = stop.streak(self.state.streak, step, min(found))
        return stop.reason(lengths, self.state.streak) if stop.ends(self.state.streak) else ""

    @torch.no_grad()
    def _score(self) -> dict[str, float | None]:
        """Accuracy at the longest training length and at twice that length. It is only displayed; nothing is selected
        by it.
        """
        longest = self.training.trained_length
        beyond = None
        with suppress(PositionError, TaskError):  # a length that the positions cannot read, or the task does not have
            beyond = self._accuracy(self.task.next_length(2 * longest), SCORED_SEQUENCES, "watch")
        return {"accuracy_in": self._accuracy(longest, SCORED_SEQUENCES, "watch"), "accuracy_out": beyond}

    def _accuracy(self, length: int, sequences: int, *purpose: object) -> float:
        """Accuracy on the length-matched test set at one length; each purpose has its own sequences."""
        g = generator(purpose[0], self.seeds.evaluation, *purpose[1:], length)
        batch = self.task.sample(sequences, length, g, "matched")
        ids = self.config.model.ids.evaluation(batch.tokens.shape[1], self.config.model.n_ctx, batch.position_ids)
        if self.device != "cpu":
            batch, ids = batch.to(self.device), ids.to(self.device)
        outputs, next_ids = outputs_and_ids(self.measured_model, batch.tokens, ids)
        right = self.task.correct(outputs, batch)
        if next_ids is not None:
            right &= ids_right(next_ids, ids, batch.mask)
        return float(self.task.sequence_correct(right, batch).double().mean())

    def _log(self, step: int) -> None:
        if self.state.log and self.state.log[-1]["step"] == step:
            self.state.log.pop()
        line = {"step": step, **{k: self.state.scores.get(k) for k in SCORES}}
        self.state.log.append(line)
        self.live.add(line)

    def _checkpoint(self, run: Run, step: int, ended: str) -> None:
        """Write the checkpoint. An existing checkpoint must contain the same weights and is kept."""
        weights = weights_bytes(self.measured_model)
        if step not in run.steps:
            self._refuse_another_trunk(step, sha256(weights))
            facts: dict[str, Any] = {"ended": ended} if ended else {}
            state = None
            if step in self.training.keep_state_at:
                progress = replace(self.state, log=[])
                state = state_bytes(run.id, self.model, self.optimizer, progress, self._averaged)
            write_checkpoint(
                run, step, weights, self.state.seen, self._log_bytes(), state, versions=versions(), **facts
            )
        elif run.meta(step)["sha256"] != sha256(weights):
            raise RunError(
                f"{run.step_path(step)} contains other weights than this training gives at step {step}: torch, its "
                f"build or the thread count changed; choose another --out"
            )
        self.state.log = []

    def _refuse_another_trunk(self, step: int, weights_hash: str) -> None:
        """Refuse a fork whose weights at the step of the fork differ from those of the run that it was split from."""
        fork = self.training.fork
        if fork and step == fork.step and weights_hash != fork.sha256:
            raise RunError(
                f"{self.folder}: this training gives other weights at step {step} than run {fork.run}, its parent: "
                "torch, its build or the thread count changed; train the parent again here"
            )

    def _refuse_infinite(self, step: int) -> None:
        """Refuse weights that are not finite. The loss is checked before each update, so it does not show the last
        one's effect.
        """
        if not all(bool(p.isfinite().all()) for p in self.model.parameters()):
            raise RunError(f"{self.folder}: the weights are no longer finite at step {step}; lower the learning rate")

    def _log_bytes(self) -> bytes:
        file = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(self.state.log, schema=LOG), file)
        return file.getvalue()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Turn SIGTERM and Ctrl-C into a flag that the loop reads between updates."""

        def stop(*_: object) -> None:
            self.stopping = True

        if threading.current_thread() is not threading.main_thread():
            yield  # Python delivers signals to the main thread only
            return
        old = {s: signal.signal(s, stop) for s in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for s, handler in old.items():
                signal.signal(s, handler)


def require_memory(config: RunConfig) -> None:
    """Refuse a run if its weights, or one residual stream of its batch, would need more memory than there is.

    Raises:
        TrainingError: naming what is too large, and both sizes.
    """
    free = available_memory()
    model, law = config.model, config.training
    copies = COPIES + (law.average_weights > 0)
    weights = 4 * copies * model.least_numbers
    group = max(group_sizes(law.batch_size, law.lengths_per_batch))
    stream = group * (law.trained_length + 1) * (8 + 4 * (model.d_model + model.d_vocab_out))
    for need, what in ((weights, "the model, with its gradients and moments,"), (stream, "a batch")):
        if need > free:
            raise TrainingError(
                f"{what} would take at least {need / 2**30:,.1f} GB of memory, but {free / 2**30:,.1f} GB are free; "
                "choose " + ("a smaller batch_size or shorter lengths" if what == "a batch" else "smaller sizes")
            )
