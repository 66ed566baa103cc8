"""Which rows count, before and after compaction: one law, checked against a model in plain Python."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.table.compaction import held
from tests.support.table.making import RunMaker
from workbench.table.shards import compact, shards_of

EVENTS = st.lists(
    st.one_of(
        st.tuples(
            st.just("shard"),
            st.sampled_from("ab"),
            st.sampled_from([0, 1]),
            st.sampled_from("xyz"),
            st.booleans(),
        ),
        st.tuples(st.just("compact")),
        st.tuples(st.just("forget files")),
        st.tuples(st.just("touch")),
    ),
    max_size=12,
)


@settings(max_examples=25)
@given(EVENTS)
def test_any_history_reads_as_the_newest_right_shard_of_each_place(events):
    """Oracle: remember each shard written; compaction and lost or touched files must not show."""
    with tempfile.TemporaryDirectory() as folder:
        run = RunMaker(Path(folder) / "run")
        run.checkpoint(0)
        run.checkpoint(1)
        newest: dict[tuple[str, int], float] = {}
        value = 0.0
        for event in events:
            if event[0] == "shard":
                _, measurement, step, key, right = event
                value += 1.0
                # Stale shards get keys of their own, as a key includes the checkpoint's hash.
                run.shard(
                    measurement,
                    step,
                    [value],
                    key=key if right else "old" + key,
                    sha256="aa" if right else "zz",
                )
                if right:
                    newest[measurement, step] = value
            elif event[0] == "compact":
                compact(run.path)
            elif event[0] == "forget files":
                compact(run.path)
                shutil.rmtree(run.path / "measurements", ignore_errors=True)
            else:
                for shard in shards_of(run.path):
                    os.utime(shard.path, ns=(1, 1))
        assert held(run) == sorted((m, s, 1, v) for (m, s), v in newest.items())
