"""Words that pages show in place of the short labels that the table of claims stores.

The stored labels stay as they are, since conditions and older tables name quantities by them. Labels that this module
does not know are shown as they are stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from workbench.claims.claim import Claim, Condition, Row
from workbench.claims.claim_sentences import CLAIMED, MEASURED, NOTED

if TYPE_CHECKING:
    from workbench.claims.verdict_rule import Judgement

BINS = {"b0": "lengths N/2 to N", "b1": "lengths N+1 to 2N", "b2": "lengths 2N+1 to 3N"}
"""Range of lengths of a bin; N is the longest trained length."""
QUANTITIES = {
    "total variation": "total variation between rounded and hard attention",
    "true weight of one best key": "exact weight of one best key",
    "length of z": "length of the shortest sequence",
    "error, overall frequencies kept": "error of a short sequence with the same overall token frequencies",
    "error, tie sets kept": "error of a short sequence with the same statistics of every tie set",
    "ratio of gaps": "largest gap beyond n divided by the largest gap up to n",
    "slope of log ratio on log n": "slope of the log of this ratio over log n",
    "gap on the short support": "gap on sequences over fewer letters",
    "gap on the complement": "gap on sequences with the other letter",
    "slope of log N0 over 2 + 2/alpha": "slope of log N0 over log 1/epsilon, divided by 2 + 2/alpha",
    "N0": "needed length N0",
    "N0 over that of the next alpha": "N0 divided by the N0 of the next larger alpha",
    "nears its limit": "weight comes nearer to its limit (1 = yes)",
    "slope of log weight on log K": "slope of log weight over log K",
    "slope of log error on log n": "slope of log error over log n",
    "error over that of Markov subsequences": "error divided by the error of Markov subsequences",
    "R^2 of log slope on norm": "R^2 of the log of the slope, predicted from the norm",
    "slope of log norm on log omega": "slope of log norm over log omega",
    "slope of log constant on log omega": "slope of the log of the Lipschitz constant over log omega",
    "slope of log length on log 1/epsilon": "slope of log length over log 1/epsilon",
    "error over epsilon": "error divided by epsilon",
    "spread of the norm": "relative spread of the norm",
    "mismatches": "number of mismatches",
    "true answers": "number of accepted prefixes",
    "rows": "number of distinct rows of the communication matrix",
    "bits per log2(N+1), the last over the largest before": (
        "bits per log2(N+1) at the longest half, minus the largest value at shorter halves"
    ),
    "decided in": "the decider finds the language in the class (1 = yes, 0 = no)",
    "predicted expressible": "theory guarantees (1), is silent on (0.5) or excludes (0) expressibility",
    "certified": "a certificate of membership was found (1 = yes, 0 = no)",
    "mismatches of its program": "number of mismatches of its program",
    "proven outside": "membership is excluded by proof (1 = yes, 0 = no)",
    "penalty": "value of the positional penalty",
    "AUC of the label": "area under the curve of membership in C-RASP",
    "AUC of another label": "area under the curve of another property",
    "lead over in AC0": "area under the curve of membership in C-RASP minus that of membership in AC0",
    "lead over star-free": "area under the curve of membership in C-RASP minus that of star-freeness",
    "lead over low dot-depth": "area under the curve of membership in C-RASP minus that of low dot-depth",
    "guarantee lost": "guaranteed only without positions (1 = yes)",
    "majority over sqrt(2 n / pi)": "average sensitivity of majority divided by sqrt(2 n / pi)",
    "first failing length": "length of the shortest sequence that is answered incorrectly",
    "R of the program over that at n 16": "R of the program divided by its R at n = 16",
    "R of the twin over R of the program": "R of the length-coupled model divided by R of the program",
    "prefixes to n/2 that the twin gets wrong": "number of prefixes up to n/2 that the length-coupled model answers "
    "incorrectly",
    "prefixes beyond that the twin gets wrong": "number of prefixes beyond n/2 that the length-coupled model answers "
    "incorrectly",
    "loss inside": "loss up to L",
    "loss beyond": "loss beyond L",
    "loss of the other": "loss of the other hypothesis",
    "gap": "gap between the two losses",
    "largest loss of a minimiser": "largest loss of a minimizer",
    "share of minimisers that fail": "share of minimizers that fail",
    "difference over 3 i epsilon": "error divided by 3 i epsilon",
    "value over the bound": "distance divided by the sum of the three distances",
    "largest ratio over l": "largest ratio of probabilities divided by l",
    "loss without": "loss without coupling",
    "the coupling is local": "coupling makes the problem local (1 = yes)",
    "gaps of another law at p < 1e-6": "the gaps have another distribution at p < 1e-6 (1 = yes)",
    "prefixes wrong": "number of prefixes answered incorrectly",
    "orbits that never settle": "number of orbits that never settle",
    "orbits that never settle, signed gates": "number of orbits that never settle with signed gates",
    "differences that never occur": "number of differences that never occur",
    "differences beyond the test lengths": "number of differences beyond the test lengths",
    "ids that differ": "number of ids that differ",
    "layers with a state": "number of layers with a state",
    "most changes of sign": "largest number of sign changes of a state",
    "R^2 of bits on h log2 K": "R^2 of the bits, predicted from h log2 K",
    "periods that 3 divides": "number of periods that are multiples of 3",
    "position wins": "most of the answer is read from position (1 = yes)",
    "share read off position": "share of the answer that is read from position",
    "fixed less few long": "error after fixed lengths minus error after few long lengths",
    "few long less uniform": "error after few long lengths minus error after uniform lengths",
    "growing less uniform": "error after growing lengths minus error after uniform lengths",
    "less than without decay": "error without weight decay minus error with it",
    "rise with the decay": "increase of the error with the next larger weight decay",
    "strength of the period": "strength of the needed period in the strongest head",
    "skill at 4 N, challenge": "skill on the challenge test set at 4 N",
    "separation": "worst result inside the class minus best result outside",
    "share length-coupled by 8N": "share of runs that are length-coupled up to 8N",
    "lead over the better": "accuracy minus the better of learned and no positions for lengths 2N+1 to 3N",
    "loss at 32N over 16N": "loss at 32N divided by loss at 16N",
    "fall of the log": "decrease of the log of the plateau",
    "rise of the log": "increase of the log of the plateau",
    "rise of log2 N*": "increase of log2 N*, the trained length that reaches a common plateau",
    "rise of the share": "increase of the share of hardmax heads",
    "tau": "Kendall's tau",
    "b1 copied": "share of complete copies that are correct for lengths N+1 to 2N",
    "ratio of errors, m 2": "error at ambiguous transitions divided by error elsewhere",
    "ratio of errors with its interval, m 2": "error at ambiguous transitions divided by error elsewhere, with its "
    "interval",
    "drop, right-going": "accuracy drop of retrieval to the right",
    "drop, left-going": "accuracy drop of retrieval to the left",
    "fitting score": "score of the matching kind of head",
    "other score": "score of the other kind of head",
    "right less left": "correct copies forwards minus backwards",
    "lead of induction": "induction score minus anti-induction score",
    "NRLast, b2 skill on the challenge law": "skill on the challenge test set, right neighbour of the last occurrence",
    "NLLast, b2 skill on the challenge law": "skill on the challenge test set, left neighbour of the last occurrence",
    "NF, b1": "accuracy of copying with repeats for lengths N+1 to 2N",
    "NF, b2": "accuracy of copying with repeats for lengths 2N+1 to 3N",
    "NB, b1": "accuracy of copying with repeats backwards for lengths N+1 to 2N",
    "NB, b2": "accuracy of copying with repeats backwards for lengths 2N+1 to 3N",
    "right-going without induction": "accuracy of retrieval to the right without induction",
    "left-going without anti-induction": "accuracy of retrieval to the left without anti-induction",
    "own score": "score of the head with its own keys",
    "score by the other's keys": "score of the head with the keys of the other head",
    "score one place further": "score of the head with keys one position further",
    "copies gone on with, either way": "share of copies that the model continues, forwards or backwards",
    "0 within the interval": "the interval contains 0 (1 = yes)",
    "lead there less here": "difference after one-way text minus difference after two-way text",
    "slope on k": "slope of accuracy over k",
    "skill at 1 N, span 8 over span 4": "skill at 1 N with span 8, divided by skill with span 4",
    "skill at 1 N, span 16 over span 4": "skill at 1 N with span 16, divided by skill with span 4",
    "needed tokens found": "share of needed tokens among the most influential tokens",
    "fall of b1 with k": "decrease of accuracy from k to k + 1 for lengths N+1 to 2N",
    "correlation with the place": "correlation of accuracy with the jump",
    "first less last": "accuracy with jump 1 minus accuracy with jump 4",
    "largest multiple of N": "longest length with accuracy 0.5 or more, in multiples of N",
    "loss with twice the context less with it": "loss with 2L visible bytes minus loss with L visible bytes",
    "overlap over chance": "overlap of the chosen bytes divided by chance",
    "tokens right": "share of correct answer tokens",
    "least gate on 1": "lowest gate on the token 1",
    "fails beyond N": "the verdict is unseen position or length-coupled (1 = yes)",
    "squared error beyond it, j = i - 1": "squared error beyond the window, j = i - 1",
    "squared error beyond it, j <= i - 25": "squared error beyond the window, j <= i - 25",
    "threshold over offset": "error of the threshold divided by error of the offset",
}
"""Stored quantity -> its name on pages."""
TASKS = {
    "aa_star": "(aa)*", "aaaa_star": "(aaaa)*", "abab_star": "(abab)*", "zero_two": "{0,1,2}*02*",
    "blocks_abcde": "aa*bb*cc*dd*ee*", "abd_bc": "{a,b}*d{b,c}*", "dyck_1": "Dyck-1", "flip_flop": "flip-flop",
    "majority": "majority", "letter_majority": "most frequent letter", "interleaved_majority": "interleaved majority",
    "sort": "sorting", "uf": "copying distinct symbols", "ub": "copying distinct symbols backwards",
    "nf": "copying with repeats", "nb": "copying with repeats backwards", "parity": "parity", "addition": "addition",
    "simple": "SimpleTask", "mod_p_mean": "ModPTask", "in_context_kgram": "in-context k-gram",
    "ur": "right neighbour", "ul": "left neighbour", "nr_first": "right neighbour of the first occurrence",
    "nl_first": "left neighbour of the first occurrence", "nr_last": "right neighbour of the last occurrence",
    "nl_last": "left neighbour of the last occurrence", "sparse_parity": "sparse parity", "planted": "planted "
    "correlation",
    "kgram_retrieval": "k-gram retrieval", "parity_scratchpad": "parity with a scratchpad",
    "variable_assignment": "variable assignment", "text": "text", "copied_text": "text with copies",
    "bounded_dyck": "bounded Dyck", "shuffle_dyck": "shuffled Dyck", "boolean": "Boolean", "tomita": "Tomita",
    "a_n_b_n": "blocks of equal length", "dyck_k": "Dyck",
}  # fmt: skip
ENCODINGS = {
    "nope": "no positions", "ape": "learned positions", "arange": "learned positions without random offset",
    "rope": "rotary positions", "rope500": "rotary positions with base 500", "pose": "rotary positions with PoSE",
    "ppc": "predicted position ids", "ppc_fixed": "predicted position ids without random offset",
    "coupled": "true position ids", "alibi": "ALiBi", "sinusoidal": "sinusoidal positions",
    "ssm": "state-space model", "signed": "state-space model with signed gates",
}  # fmt: skip
"""Encodings of :func:`workbench.claims.trained_cells.encoding` and architectures, in words."""
JOINTS = {" less ": " minus ", " against ": " compared with ", " after ": " compared with "}
_SHORTER = (
    (r"^(Tomita|Boolean) n (\d+)", r"\1 \2"),
    (r"^bounded Dyck n (\d+)", r"D_\1"),
    (r"^shuffled Dyck k (\d+)", r"shuffle of \1 Dyck languages"),
    (r"^blocks of equal length letters (\d+)", r"blocks of equal length with \1 letters"),
    (r"\b(ask next|folder generated)\b ?", ""),
    (r"\blim (\d+) (\d+)\b", r"limit positions of period \1 and locality \2"),
    (r"\bscratchpad False\b", "without scratchpad"),
    (r"\b1 layers\b", "one layer"),
    (r"\band next$", "and the next k"),
    (r"\blong$", "longer training"),
    (r"\banti_induction\b", "anti-induction"),
    (
        r"\b(symbols|variables|omega|prior|p|k|k_at|span|gap|jump|depth|stride|penalty|copied|near|letters|half|n|N) "
        r"([\d.]+|first)\b",
        r"\1 = \2,",
    ),
)  # fmt: skip
"""Patterns in a case, with the task in words, and the words of the pages."""


def quantity_text(name: str) -> str:
    """A stored quantity in words."""
    if name in QUANTITIES:
        return QUANTITIES[name]
    base, comma, of = name.partition(", ")
    if base.startswith("difference of "):
        inner = quantity_text(base.removeprefix("difference of "))
        return f"difference in {inner}{f' ({of})' if comma else ''}"
    if match := re.fullmatch(r"(b[012])( every prefix| skill)?", base):
        what = {None: "accuracy", " every prefix": "share of sequences with every prefix correct", " skill": "skill"}
        return f"{what[match[2]]} for {BINS[match[1]]}{f' ({of})' if comma else ''}"
    return name


def item_text(item: str) -> str:
    """A stored case of a trained claim in words: the task, its settings, and the encoding of positions."""
    for joint, words in JOINTS.items():
        if joint in item and item.split()[0] in TASKS:
            first, second = item.split(joint, 1)
            return f"({item_text(first)}){words}({item_text(second)})"
    task, _, settings = item.partition(" ")
    task, comma, _ = task.partition(",")
    if task not in TASKS:
        return item
    text = f"{TASKS[task]}{comma} {settings}".strip()
    for pattern, words in _SHORTER:
        text = re.sub(pattern, words, text)
    for short, words in ENCODINGS.items():
        text = re.sub(rf" {short}(?=,| |$)", f", {words},", text)
    text = re.sub(r" (?=limit positions)", ", ", text)
    text = re.sub(r"(?<![,=]) (?=(?:symbols|omega|p|k|span|jump|depth|copied|letters|n|N) = )", ", ", text)
    return re.sub(r",(?:\s*,)+", ",", text).strip(", ")


def condition_text(condition: Condition) -> str:
    """Return a condition of a claim in words."""
    parts = []
    if condition.near is not None:
        within = f" within {condition.near:g}" if condition.near else ""
        parts.append(f"equals the expected value{within}")
    if condition.at_least is not None and condition.at_least == condition.at_most:
        parts.append(f"is {condition.at_least:g}")
    else:
        parts += [f"is at least {condition.at_least:g}"] if condition.at_least is not None else []
        parts += [f"is at most {condition.at_most:g}"] if condition.at_most is not None else []
    name = quantity_text(condition.quantity)
    text = f"{name} {' and '.join(parts)}"
    if name.endswith(")"):
        text = f"{name}: {' and '.join(part.removeprefix('is ') for part in parts)}"
    limits = [f"below {condition.fails_below:g}"] if condition.fails_below is not None else []
    limits += [f"above {condition.fails_above:g}"] if condition.fails_above is not None else []
    return f"{text} (the claim fails {' or '.join(limits)})" if limits else text


def conditions_text(claim: Claim) -> str:
    """All conditions of a claim in words."""
    return "; ".join(map(condition_text, claim.conditions)) or "the claim is a description and has no condition"


def observation_text(judgement: Judgement, rows: Sequence[Row]) -> str:
    """Return the decisive numbers of a verdict, with quantities and cases in words."""
    return observed_text(judgement.observation, rows)


def observed_text(observation: str, rows: Sequence[Row]) -> str:
    """Return a stored observation of a claim with the quantities and cases of its rows in words."""
    quantities = sorted({row.quantity for row in rows}, key=len, reverse=True)
    items = sorted({row.item for row in rows if row.item}, key=len, reverse=True)
    if not quantities or not observation:
        return observation
    names, cases = ("|".join(map(re.escape, texts)) for texts in (quantities, items))
    where = f"(?: at ({cases}))?" if items else "()"
    pattern = rf"(?:(?<=^)|(?<=; ))({names}){where}(:| (?=[-\d]|inf|nan))"

    def replace(match: re.Match[str]) -> str:
        item = f" in the case `{item_text(match[2])}`" if match[2] else ""
        return f"{quantity_text(match[1])}{item}:{'' if match[3] == ':' else ' '}"

    text = re.sub(pattern, replace, observation)
    text = re.sub(r"typical run (?=[-\d])", "median over seeds ", text)
    text = re.sub(r"typical runs (-?[\d.e+-]+) in (\d+ cases)", r"medians over seeds \1 in all \2", text)
    text = re.sub(r"typical runs (?=[-\d])", "medians over seeds ", text)
    text = re.sub(r"(?<=[:s] )(-?[\d.,e+-]+ to -?[\d.,e+-]+) in (\d+ cases)", r"from \1 in \2", text)
    return re.sub(r": (-?[\d.e+-]+) in (\d+ cases)", r": \1 in all \2", text)


REASONS = (
    (r"(\d+) of (\d+) fitted; (\d+) are needed", r"\1 of \2 seeds solve the trained lengths; \3 are needed"),
    (
        r"(\d+) fitted seeds of some cells; (\d+) are needed",
        r"in some settings, the number of seeds that solve the trained lengths is only \1; \2 are needed",
    ),
    (
        r"on the other side at error ([\d.]+), but not at ([\d.]+), as one of (\d+) parts must be",
        r"evidence against the claim at error level \1, but not at \2, the level for each of its \3 conditions",
    ),
    (r"\b1 more fitted seeds may decide", "1 more seed that solves the trained lengths may decide"),
    (r"more fitted seeds may decide", "more seeds that solve the trained lengths may decide"),
    (
        r"(\d+ of \d+) seeds shown on its side, (\d+) on the other",
        r"\1 seeds are significantly on the claim's side, \2 on the other",
    ),
    (r"settled with its numbers known", "settings or thresholds chosen when its numbers were known"),
)  # fmt: skip
"""Patterns in stored reasons of verdicts, and the words of the pages."""


def reason_text(why: str) -> str:
    """Return the reason for a verdict on a claim, in words."""
    return _replaced(why, REASONS)


def _replaced(text: str, patterns: Iterable[tuple[str, str]]) -> str:
    """A text in which each pattern, in their order, is replaced by its words."""
    for pattern, words in patterns:
        text = re.sub(pattern, words, text)
    return text


PHRASES = (
    (r"\(published ([\d.]+)/([\d.]+) with positions, ([\d.]+)/([\d.]+) without\)",
     r"(published accuracies in percent at increasing lengths: \1, then \2 with positions; \3, then \4 without)"),
    (r"\(published ([\d.]+)/([\d.]+)/([\d.]+) with positions, ([\d.]+)/([\d.]+)/([\d.]+) without\)",
     r"(published accuracies in percent at increasing lengths: \1, \2, \3 with positions; \4, \5, \6 without)"),
    (r"\(published ([\d.]+)/([\d.]+)\)", r"(published accuracies in percent at increasing lengths: \1, then \2)"),
    (r"\(published 100/100/99-100\)", "(published accuracies: 99 to 100 % at all three ranges of lengths)"),
    (r"\(published ([\d.]+)/([\d.]+) and ([\d.]+)/([\d.]+)\)",
     r"(published accuracies in percent at increasing lengths, for two tasks: \1, then \2; \3, then \4)"),
    (r"\(published 27/0, 80/4, 91/17 by layers\)",
     "(published accuracies in percent at two ranges of lengths, with more and more layers: 27 and 0; 80 and 4; "
     "91 and 17)"),
    (r"\(published ([\d-]+), ([\d-]+), ([\d-]+)\)",
     r"(published accuracies in percent at increasing lengths: \1, then \2, then \3)"),
    (r"accuracy with lengths uniform over \(N, 2N\] \(b1\) and \(2N, 3N\] \(b2\)",
     "accuracy, with lengths uniform from N+1 to 2N (b1) and from 2N+1 to 3N (b2)"),
    (r"share of strings, lengths uniform over \(N, 2N\] \(b1\) and \(2N, 3N\] \(b2\), of which "
    r"every prefix is answered right",
     "share of strings of which every prefix is answered correctly, with lengths uniform from N+1 to 2N (b1) and from "
     "2N+1 to 3N (b2)"),
    (r"share of strings, lengths uniform over \(N, 2N\], of which every prefix is answered right",
     "share of strings of which every prefix is answered correctly, with lengths uniform from N+1 to 2N"),
    (r"share of the lengths in (\S+ \S+) of whose string every prefix is answered right, all counted",
     r"share of lengths in \1 at which every prefix of the string is answered correctly, over all lengths"),
    (r"accuracy: all tokens of the answer right, and all ids where they are predicted, those before shown",
     "share of sequences with all answer tokens correct (and all ids, if the model predicts them), given the correct "
     "earlier ones"),
    (r"loss at 32N over loss at 16N, mean over the last eighth of the prefixes",
     "loss at 32N divided by loss at 16N, each averaged over the last eighth of the prefixes"),
    (r"that of the next easier cell at the same N", "that of the next easier setting at the same N"),
    (r"of the byte behind the same 500 held-out texts", "for the byte after each of the same 500 held-out texts"),
    (r"that with the last L of them", "loss with only the last L of them"),
    (r"with the edges of one circuit removed \(keys behind, or equal to, an earlier occurrence\)",
     "without the edges of one circuit (keys after an earlier occurrence, or the earlier occurrence itself)"),
    (r"the text is generated \(invented names, colours that things keep, topics\), so that it is "
    r"the same everywhere; the "
     r"paper's is C4, and its models are 3,000 times as large\. A run counts as fitted if more of "
     r"its last bytes are right "
     r"at N than the likeliest byte after the last two gets",
     "the text is generated (invented names, constant colours of things, topics), so it is identical on every machine. "
     "The text of the paper is C4, and its models are 3,000 times as large. A run is fitted if it "
     "predicts the last byte "
     "at N more often than the rule that takes the most likely byte after the two bytes before"),
    (r"bytes are chosen with the right answer known, as in the paper, which favours them",
     "bytes are chosen with the correct answer known, as in the paper; this favours them"),
    (r"\bminimiser", "minimizer"),
    (r"(?<![\w.])\.(\d)", r"0.\1"),
    (r"steps of (\d+) at rate ([\d.]+)", r"steps with batches of \1 at learning rate \2"),
    (
        r"\(published ([\d.]+)/([\d.]+)/([\d.]+)(, chance \d+)?\)",
        r"(published: \1 % up to N, \2 % at N+1 to 2N, \3 % at 2N+1 to 3N\4)",
    ),
    (r"^(Without|With) positions (?!and)", r"\1 positions, "),
    (r"is answered right beyond the trained lengths", "is solved beyond the trained lengths"),
    (r"is right beyond N\b", "is solved beyond N"),
    (r"fit and are lost", "are solved at trained lengths and fail beyond"),
    (r"\bis lost\b", "fails"),
    (r"\bare lost\b", "fail"),
    (r"(are|is) learnt and (holds?) beyond(?! the)", r"\1 learned and \2 beyond the trained lengths"),
    (r"is learnt by two layers and holds beyond", "is learned by two layers and holds beyond the trained lengths"),
    (r"\blearnt\b", "learned"),
    (r"(and|are) not even fitted", r"\1 not even solved at trained lengths"),
    (r"of (which|whose string) every prefix is answered right", r"of \1 every prefix is answered correctly"),
    (r"answers? wrongly", "answers incorrectly"),
    (r",? cells drawn whole", ", with intervals from resampling whole settings"),
    (r"runs enter whether or not they are fitted", "all runs count, whether or not they solve the trained lengths"),
    (
        r"runs enter whether fitted or not: that they fit is the claim",
        "all runs count: the claim is that they are fitted",
    ),
    (r"runs( of one layer)? enter although they are not fitted", r"all runs\1 count, although they are not fitted"),
    (r"outside all runs enter", "outside the class all runs count"),
    (r"runs enter whether or not", "all runs count, whether or not"),
    (r"fitted runs alone", "only fitted runs count"),
    (
        r"asked which symbols may follow; strings that no word can be reached from are not asked about further",
        "the model predicts which symbols may follow; a string is not evaluated further once no word can be reached",
    ),
    (r"asked whether each prefix is in the language", "the model answers whether each prefix is in the language"),
    (
        r"asked after every prefix, where the paper asks once at the end",
        "evaluated after every prefix; the paper evaluates only the last",
    ),
    (r"stands in the table of runs", "is in `runs.parquet`"),
    (r"(are|is) in the table of runs", r"\1 in `runs.parquet`"),
    (r"challenge law", "challenge test set"),
    (r"on the law of training", "on the training distribution"),
    (r"the uniform law", "the uniform distribution"),
    (r"\b(exact|local) law\b", r"\1 distribution"),
    (r"\blaws?\b", "distribution"),
    (r" less (?=b[12]|loss|that|the|those|with|without|accuracy|trained|at|copies|log|n\b)", " minus "),
)  # fmt: skip
"""Phrases in the texts of claims, and the words of the pages."""


def prose(text: str) -> str:
    """A text of a claim in the words of the pages."""
    return _replaced(text, PHRASES)


def prediction_text(claim: Claim) -> str:
    """Return what is claimed, in a sentence that can be read without the rest of the page."""
    return prose(CLAIMED.get(claim.id, claim.prediction))


def statistic_text(claim: Claim) -> str:
    """Return what is measured, in words."""
    return prose(MEASURED.get(claim.id, claim.statistic))


def note_text(claim: Claim) -> str:
    """Return the note of a claim in words; "" if it has none."""
    return prose(NOTED.get(claim.id, claim.note))
