"""The training loop: plain, interruptible at any instant, and bit-identical when continued."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from workbench.models.transformer import HookedTransformer
from workbench.runs.folder import Run, RunError, canonical, sha256_of, write_atomic, writer_lock
from workbench.runs.load import weights_bytes
from workbench.table.files import sync_folder
from workbench.tasks.base import Batch
from workbench.tasks.seeds import generator
from workbench.training.config import RunConfig, versions
from workbench.training.optimizer import learning_rate, make_optimizer
from workbench.training.schedule import checkpoint_steps
from workbench.training.state import NAME, State, load_state, save_state

RESUME_EVERY_S = 30.0
SCORED_SEQUENCES = 128
LOG = pa.schema([("step", pa.int64()), *((k, pa.float64()) for k in ("loss", "lr", "accuracy_in", "accuracy_out"))])


class Stopped(Exception):
    """Training was asked to stop (SIGTERM or Ctrl-C) and has saved its state."""


class Watcher(Protocol):
    """Told how training goes; see ``workbench.cli.progress``."""

    def __call__(self, step: int, scores: dict[str, float | None]) -> None: ...


class Trainer:
    """Trains one run in one folder.

    Args:
        config: task, model, training and seeds.
        folder: the run's folder; made if missing, continued if it holds this very run.
        watcher: called with the step and the latest scores after every update.

    Raises:
        RunError: if the folder holds something else, or another process is writing it.
    """

    def __init__(self, config: RunConfig, folder: Path, watcher: Watcher | None = None) -> None:
        self.config, self.folder, self.watcher = config, folder, watcher
        self.task, self.law, self.seeds = config.task, config.training, config.seeds
        self.schedule = checkpoint_steps(self.law.steps, self.law.checkpoints.log, self.law.checkpoints.linear)
        self.scores: dict[str, float | None] = {}
        self.stopping = False

    def run(self) -> Run:
        """Train to the last step and return the run.

        Raises:
            Stopped: after SIGTERM or Ctrl-C, with everything saved; the same call continues.
        """
        with writer_lock(self.folder):
            run = self._open()
            if self.law.steps in run.steps:
                return run
            torch.set_num_threads(self.law.threads)
            self.model = HookedTransformer(self.config.model, seed=self.seeds.init)
            self.optimizer = make_optimizer(self.model, self.law)
            self.state = load_state(self.folder, run.id, self.model, self.optimizer) or State()
            with self._signals():
                self._loop(run)
            (self.folder / NAME).unlink(missing_ok=True)
            (self.folder / "live.jsonl").unlink(missing_ok=True)
        return run

    def _open(self) -> Run:
        """The run in the folder: this one, begun or new."""
        wanted = self.config.as_json()
        file = self.folder / "run.json"
        if not file.exists():
            write_atomic(file, (json.dumps(wanted, indent=1) + "\n").encode())
        run = Run.open(self.folder)
        if run.id != wanted["id"]:
            parts = ("task", "model", "training", "seeds")
            differing = [k for k in parts if canonical(run.config[k]) != canonical(wanted[k])]
            raise RunError(
                f"{self.folder} holds another run (its {' and '.join(differing)} differ); choose another --out"
            )
        return run

    def _loop(self, run: Run) -> None:
        last_resume = time.monotonic()
        due = set(self.schedule)
        with open(self.folder / "live.jsonl", "a", encoding="utf-8") as live:
            while True:
                step = self.state.step
                if step in due:
                    self.scores |= self._score()
                    self._log(step, live)
                    self._checkpoint(run, step)
                    live.truncate(0)
                if step >= self.law.steps:
                    return
                if self.stopping or time.monotonic() - last_resume > RESUME_EVERY_S:
                    save_state(self.folder, run.id, self.model, self.optimizer, self.state)
                    last_resume = time.monotonic()
                if self.stopping:
                    raise Stopped(f"stopped at step {step:,} of {self.law.steps:,}; the same command continues")
                self._update(step)
                if step % max(1, self.law.steps // 200) == 0:
                    self._log(step, live)
                if self.watcher:
                    self.watcher(self.state.step, self.scores)

    def batch(self, step: int) -> tuple[Batch, torch.Tensor]:
        """The batch of update ``step`` and its position ids: a pure function of (data seed, step)."""
        g = generator("data", self.seeds.data, step)
        length = self.law.curriculum.length(self.task, step, g)
        batch = self.task.sample(self.law.batch_size, length, g, "training")
        model = self.config.model
        ids = model.ids.training(len(batch), batch.tokens.shape[1], model.n_ctx, g, batch.position_ids)
        return batch, ids

    def _update(self, step: int) -> None:
        batch, ids = self.batch(step)
        self.state.see(ids)
        rate = learning_rate(self.law, step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        loss = self.task.loss(self.model(batch.tokens, ids), batch)
        if not bool(loss.isfinite()):
            raise RunError(f"{self.folder}: the loss is no longer finite at step {step}; lower the learning rate")
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if self.law.clip:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.law.clip)
        self.optimizer.step()
        self.state.step = step + 1
        self.scores |= {"loss": float(loss.detach()), "lr": rate}

    @torch.no_grad()
    def _score(self) -> dict[str, float | None]:
        """Accuracy at the longest training length and at twice it, for watching only: nothing is selected."""
        longest = self.law.trained_length
        return {
            "accuracy_in": self._accuracy(longest),
            "accuracy_out": self._accuracy(self.task.next_length(2 * longest)),
        }

    def _accuracy(self, length: int) -> float | None:
        g = generator("watch", self.seeds.evaluation, length)
        batch = self.task.sample(SCORED_SEQUENCES, length, g, "matched")
        positions = batch.tokens.shape[1]
        if self.config.model.positions.table and positions > self.config.model.n_ctx:
            return None
        ids = self.config.model.ids.evaluation(positions, self.config.model.n_ctx, batch.position_ids)
        right = self.task.correct(self.model(batch.tokens, ids), batch)
        return float(self.task.answered(right, batch).double().mean())

    def _log(self, step: int, live: Any) -> None:
        if self.state.log and self.state.log[-1]["step"] == step:
            self.state.log.pop()
        line = {"step": step, **{k: self.scores.get(k) for k in ("loss", "lr", "accuracy_in", "accuracy_out")}}
        self.state.log.append(line)
        live.write(json.dumps({**line, "time": time.time()}) + "\n")
        live.flush()

    def _checkpoint(self, run: Run, step: int) -> None:
        """Write a checkpoint as a whole folder, renamed once; one that exists must hold the same bytes."""
        final = run.step_path(step)
        weights = weights_bytes(self.model)
        tmp = final.with_name(f".{final.name}.{os.getpid()}.tmp")
        tmp.mkdir(parents=True, exist_ok=True)
        write_atomic(tmp / "model.safetensors", weights)
        sha = sha256_of(tmp / "model.safetensors")
        if final.exists():
            _remove(tmp)
            if run.meta(step)["sha256"] != sha:
                raise RunError(
                    f"{final} holds other weights than this training gives at step {step}: torch, its build or "
                    f"the thread count changed; train into another folder"
                )
        else:
            meta = {"step": step, "sha256": sha, "trained_ids": self.state.seen, "versions": versions()}
            write_atomic(tmp / "meta.json", json.dumps(meta).encode())
            pq.write_table(pa.Table.from_pylist(self.state.log, schema=LOG), tmp / "log.parquet")
            os.replace(tmp, final)
            sync_folder(final.parent)
        self.state.log = []

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


def _remove(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
