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
    "trigger_output": "workbench.tasks.retrieval.trigger_output:TriggerOutput",
    "set_complement": "workbench.tasks.regular.set_complement:SetComplement",
}


TITLES: Mapping[str, str] = {
    "flip_flop": "flip-flop memory",
    "parity": "parity",
    "majority": "majority of two symbols",
    "mod_p_mean": "share of ones at every p-th position",
    "kgram_retrieval": "k-gram retrieval",
    "even_pairs": "even number of changes",
    "mod_count": "count modulo m",
    "cycle_navigation": "position on a cycle",
    "symmetric_group": "product of permutations",
    "alternating_group": "product of even permutations",
    "modular_arithmetic": "modular arithmetic",
    "tomita": "Tomita language",
    "bounded_dyck": "brackets of bounded depth",
    "aa_star": "language (aa)*",
    "aaaa_star": "language (aaaa)*",
    "abab_star": "language (abab)*",
    "blocks_abcde": "language aa*bb*cc*dd*ee*",
    "abd_bc": "language {a,b}*d{b,c}*",
    "zero_two": "language {0,1,2}*02*",
    "last_nonneutral_a": "language (a|b|e)*ae*",
    "alternating_blocks": "alternating blocks of a and b",
    **{name: f"language {expression}" for name, expression in EXPRESSIONS.items()},
    "regular": "regular language",
    "ul": "left neighbour, unique symbols",
    "ur": "right neighbour, unique symbols",
    "nl_first": "left neighbour, first occurrence",
    "nr_first": "right neighbour, first occurrence",
    "nl_last": "left neighbour, last occurrence",
    "nr_last": "right neighbour, last occurrence",
    "k_hop": "chain of k hops",
    "needle": "key-value retrieval",
    "uf": "copy, unique symbols",
    "ub": "reversed copy, unique symbols",
    "nf": "copy, repeated symbols",
    "nb": "reversed copy, repeated symbols",
    "reverse": "reversed copy, two symbols",
    "duplicate_string": "two copies, repeated symbols",
    "odds_first": "odd positions first",
    "sort": "sorting",
    "addition": "addition",
    "parity_scratchpad": "parity with a scratchpad",
    "variable_assignment": "chain of assignments",
    "sparse_parity": "parity of marked bits",
    "planted": "sum of planted numbers",
    "text": "next byte of a text",
    "letter_majority": "most frequent letter",
    "interleaved_majority": "interleaved majority",
    "dyck_1": "balanced brackets, one type",
    "shuffle_dyck": "interleaved balanced brackets",
    "dyck_k": "type of the open bracket",
    "a_n_b_n": "language a^n b^n",
    "boolean": "complete Boolean expression",
    "simple": "sine of a difference of shares",
    "in_context_kgram": "k-gram statistics",
    "markov_chain": "Markov chain in context",
    "linear_regression": "linear regression in context",
    "next_token": "next token of a text",
    "copied_text": "copied passage of a text",
    "mixture": "mixture of tasks",
    "trigger_output": "output after a trigger",
    "set_complement": "letters that have not occurred",
}
"""Task -> the name that screens show before it. A task of another package has none: its own name stands alone."""


LISTINGS: dict[str, int] = {"mixture": 1}
"""Tasks that began to list test sets after runs of them had been stored, with the number of such changes.

Measurements that evaluate a listed test set (``lists``) include the number in the key of their rows. So they measure
such runs again, and no other runs.
"""


CALLED: Mapping[str, str] = {"copy": "uf"}
"""Second names of tasks, each with the task's name."""


def task_label(name: str) -> str:
    """Return a task as pages and commands show it: what it is called in words, and in parentheses its name.

    Example:

        >>> task_label("uf"), task_label("parity"), task_label("my_task")
        ('copy, unique symbols (uf)', 'parity', 'my_task')
    """
    title = TITLES.get(name, name)
    return name if title == name else f"{title} ({name})"


def _a_task(name: str, found: object, place: str) -> type[Task]:
    from workbench.tasks.base import Task

    if not (isinstance(found, type) and issubclass(found, Task) and found is not Task):
        raise TaskError(f"{place}, announced as the task {name!r}, is not a subclass of workbench.tasks.Task")
    if found.name != name:
        raise TaskError(f"{place} is announced as the task {name!r} but calls itself {found.name!r}")
    return found


TASKS: Registry[type[Task]] = Registry("task", TaskError, BUILT_IN, group=ENTRY_POINTS, check=_a_task)
"""All tasks by name. An installed package announces its own tasks in the group :data:`ENTRY_POINTS`."""
