"""The tasks by name, built-in ones and those of other packages. Names are listed without importing torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from workbench.core.registry import Registry
from workbench.tasks.errors import TaskError
from workbench.tasks.regular.named_languages import EXPRESSIONS

if TYPE_CHECKING:
    from workbench.tasks.base import Task

ENTRY_POINTS = "lengthlens.tasks"
"""Entry-point group in which other packages announce tasks: ``name = "package.module:Class"``."""

BUILT_IN: Mapping[str, str] = {
    "flip_flop": "workbench.tasks.regular.state_machines:FlipFlop",
    "parity": "workbench.tasks.regular.state_machines:Parity",
    "majority": "workbench.tasks.counting.majority:Majority",
    "mod_p_mean": "workbench.tasks.in_context.means:ModPMean",
    "kgram_retrieval": "workbench.tasks.retrieval.kgram:KGramRetrieval",
    "even_pairs": "workbench.tasks.regular.state_machines:EvenPairs",
    "mod_count": "workbench.tasks.regular.modular:ModCount",
    "cycle_navigation": "workbench.tasks.regular.modular:CycleNavigation",
    "symmetric_group": "workbench.tasks.regular.groups:SymmetricGroup",
    "alternating_group": "workbench.tasks.regular.groups:AlternatingGroup",
    "modular_arithmetic": "workbench.tasks.regular.arithmetic:ModularArithmetic",
    "tomita": "workbench.tasks.regular.languages:Tomita",
    "bounded_dyck": "workbench.tasks.regular.languages:BoundedDyck",
    "aa_star": "workbench.tasks.regular.languages:AaStar",
    "aaaa_star": "workbench.tasks.regular.languages:AaaaStar",
    "abab_star": "workbench.tasks.regular.languages:AbabStar",
    "blocks_abcde": "workbench.tasks.regular.languages:BlocksAbcde",
    "abd_bc": "workbench.tasks.regular.languages:AbdBc",
    "zero_two": "workbench.tasks.regular.languages:ZeroTwo",
    "last_nonneutral_a": "workbench.tasks.regular.languages:LastNonneutralA",
    "alternating_blocks": "workbench.tasks.regular.languages:AlternatingBlocks",
    **{name: f"workbench.tasks.regular.named_languages:{name}" for name in EXPRESSIONS},
    "regular": "workbench.tasks.regular.regular_task:Regular",
    "ul": "workbench.tasks.retrieval.neighbours:UL",
    "ur": "workbench.tasks.retrieval.neighbours:UR",
    "nl_first": "workbench.tasks.retrieval.neighbours:NLFirst",
    "nr_first": "workbench.tasks.retrieval.neighbours:NRFirst",
    "nl_last": "workbench.tasks.retrieval.neighbours:NLLast",
    "nr_last": "workbench.tasks.retrieval.neighbours:NRLast",
    "k_hop": "workbench.tasks.retrieval.k_hop:KHop",
    "needle": "workbench.tasks.retrieval.needle:Needle",
    "uf": "workbench.tasks.sequences.copying:UF",
    "ub": "workbench.tasks.sequences.copying:UB",
    "nf": "workbench.tasks.sequences.copying:NF",
    "nb": "workbench.tasks.sequences.copying:NB",
    "reverse": "workbench.tasks.sequences.copying:Reverse",
    "duplicate_string": "workbench.tasks.sequences.copying:DuplicateString",
    "odds_first": "workbench.tasks.sequences.copying:OddsFirst",
    "sort": "workbench.tasks.sequences.copying:Sort",
    "addition": "workbench.tasks.sequences.addition:Addition",
    "parity_scratchpad": "workbench.tasks.sequences.scratchpad:ParityScratchpad",
    "variable_assignment": "workbench.tasks.sequences.scratchpad:VariableAssignment",
    "sparse_parity": "workbench.tasks.sequences.planted:SparseParity",
    "planted": "workbench.tasks.sequences.planted:PlantedCorrelation",
    "text": "workbench.tasks.text.byte_text:Text",
    "letter_majority": "workbench.tasks.counting.letter_majority:LetterMajority",
    "interleaved_majority": "workbench.tasks.counting.letter_majority:InterleavedMajority",
    "dyck_1": "workbench.tasks.counting.dyck:Dyck1",
    "shuffle_dyck": "workbench.tasks.counting.dyck:ShuffleDyck",
    "dyck_k": "workbench.tasks.counting.dyck_k:DyckK",
    "a_n_b_n": "workbench.tasks.counting.equal_blocks:EqualBlocks",
    "boolean": "workbench.tasks.counting.boolean:BooleanExpression",
    "simple": "workbench.tasks.in_context.means:SimpleTask",
    "in_context_kgram": "workbench.tasks.in_context.kgram_continuations:InContextKGram",
    "markov_chain": "workbench.tasks.in_context.markov:MarkovChain",
    "linear_regression": "workbench.tasks.in_context.regression:LinearRegression",
    "next_token": "workbench.tasks.text.next_token:NextToken",
    "copied_text": "workbench.tasks.text.copied_text:CopiedText",
    "mixture": "workbench.tasks.mixture:Mixture",
}


LISTINGS: dict[str, int] = {"mixture": 1}
"""Tasks that began to list test sets after runs of them had been stored, with the number of such changes.

Measurements that evaluate a listed test set (``lists``) include the number in the key of their rows. So they measure
such runs again, and no other runs.
"""


CALLED: Mapping[str, str] = {"copy": "uf"}
"""Second names of tasks, each with the task's name."""


def task_label(name: str) -> str:
    """Return a task's name as pages and commands show it, with its second name if it has one.

    Example:

        >>> task_label("uf"), task_label("flip_flop")
        ('uf (copy)', 'flip_flop')
    """
    return " ".join([name, *(f"({called})" for called, known in CALLED.items() if known == name)])


def _a_task(name: str, found: object, place: str) -> type[Task]:
    from workbench.tasks.base import Task

    if not (isinstance(found, type) and issubclass(found, Task) and found is not Task):
        raise TaskError(f"{place}, announced as the task {name!r}, is not a subclass of workbench.tasks.Task")
    if found.name != name:
        raise TaskError(f"{place} is announced as the task {name!r} but calls itself {found.name!r}")
    return found


TASKS: Registry[type[Task]] = Registry("task", TaskError, BUILT_IN, group=ENTRY_POINTS, check=_a_task)
"""All tasks by name. An installed package announces its own tasks in the group :data:`ENTRY_POINTS`."""
