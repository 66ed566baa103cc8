"""The papers that claims come from, and where in a paper a claim stands: the one home of titles and identifiers.

``make readmes`` writes ``docs/references.bib`` from here.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench.claims.errors import ClaimError


@dataclass(frozen=True)
class Paper:
    """A paper whose claims are tested.

    Attributes:
        key: its key in ``docs/references.bib``.
        authors: in the paper's order, first names first.
        year: the year of its first version.
        title: as printed.
        arxiv: its arXiv identifier; "" for a paper that is not on arXiv.
        doi: the doi of its published version; "" without one.
        volume: the volume and pages of its proceedings, for a paper that is not on arXiv.
        page: the address of its page in the proceedings, for a paper that is not on arXiv.
    """

    key: str
    authors: tuple[str, ...]
    year: int
    title: str
    arxiv: str
    doi: str = ""
    volume: str = ""
    page: str = ""

    def __post_init__(self) -> None:
        if not self.arxiv and not (self.volume and self.page):
            raise ClaimError(f"{self.key} has no identifier; give it one of arXiv, or its volume and page")

    @property
    def name(self) -> str:
        """Last names and year: ``Huang et al. 2024``. Up to three authors are all named."""
        last = [author.split()[-1] for author in self.authors]
        names = f"{last[0]} et al." if len(last) > 3 else " and ".join(filter(None, [", ".join(last[:-1]), last[-1]]))
        return f"{names} {self.year}"

    @property
    def identifier(self) -> str:
        """Its identifier in words: ``arXiv 2410.02140``, or the volume and pages of its proceedings."""
        return f"arXiv {self.arxiv}" if self.arxiv else self.volume

    @property
    def url(self) -> str:
        """The address of the paper's page on arXiv, or in its proceedings."""
        return f"https://arxiv.org/abs/{self.arxiv}" if self.arxiv else self.page

    @property
    def entry(self) -> str:
        """Return the paper's BibTeX entry."""
        fields = {
            "author": " and ".join(self.authors),
            "title": f"{{{self.title}}}",
            "year": str(self.year),
            "eprint": self.arxiv,
            "archivePrefix": "arXiv" if self.arxiv else "",
            "howpublished": self.volume,
            "url": self.url,
            "doi": self.doi,
        }
        lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
        return "\n".join([f"@misc{{{self.key},", *lines, "}", ""])

    def states(self, place: str) -> Source:
        """Return the source of a claim that the paper states in a section, theorem, table or figure."""
        if not place:
            raise ClaimError(
                f"states() of {self.name} needs the section of the paper; for a reading of the whole paper call "
                "reading()"
            )
        return Source(self, place)

    def reading(self, place: str = "") -> Source:
        """Return the source of a claim that is our interpretation of a part of the paper, or without ``place`` of the
        whole paper.
        """
        return Source(self, place, ours=True)


@dataclass(frozen=True)
class Source:
    """The origin of a claim: a paper and a part of it, or our own question.

    Attributes:
        paper: the paper; None for a question of our own.
        place: section, theorem, table or figure of the paper; "" for a reading of the paper as a whole. For our own
            question it is the question.
        ours: whether the claim is our reading. Otherwise the paper states it there.
    """

    paper: Paper | None
    place: str
    ours: bool = False

    @property
    def kind(self) -> str:
        """Who makes the claim, in words: the paper, our interpretation of it, or LengthLens."""
        return "our own question" if self.paper is None else "our reading" if self.ours else "statement of the paper"

    def __str__(self) -> str:
        """The source in plain text: ``Huang et al. 2024, arXiv 2410.02140, theorem 9 (statement of the paper)``."""
        return self.text(f"{self.paper.name}, {self.paper.identifier}" if self.paper else "")

    def text(self, paper: str) -> str:
        """Return the source as text, with the paper written in the given way.

        Args:
            paper: name and identifier of the paper, e.g. with links.
        """
        return f"{', '.join(filter(None, (paper, self.place)))} ({self.kind})"


def own_question(question: str) -> Source:
    """Return the source of a claim that no paper makes."""
    return Source(None, question, ours=True)


HUANG = Paper(
    "huang2024formal",
    (
        "Xinting Huang", "Andy Yang", "Satwik Bhattamishra", "Yash Sarrof", "Andreas Krebs", "Hattie Zhou",
        "Preetum Nakkiran", "Michael Hahn",
    ),
    2024,
    "A Formal Framework for Understanding Length Generalization in Transformers",
    "2410.02140",
)  # fmt: skip
IZZO = Paper(
    "izzo2025quantitative",
    ("Zachary Izzo", "Eshaan Nichani", "Jason D. Lee"),
    2025,
    "Quantitative Bounds for Length Generalization in Transformers",
    "2510.27015",
)
GOLOWICH = Paper(
    "golowich2025sparsity",
    ("Noah Golowich", "Samy Jelassi", "David Brandfonbrener", "Sham M. Kakade", "Eran Malach"),
    2025,
    "The Role of Sparsity for Length Generalization in Transformers",
    "2502.16792",
)
JOBANPUTRA = Paper(
    "jobanputra2025born",
    (
        "Mayank Jobanputra", "Yana Veitsman", "Yash Sarrof", "Aleksandra Bakalova", "Vera Demberg", "Ellie Pavlick",
        "Michael Hahn",
    ),
    2025,
    "Born a Transformer -- Always a Transformer? On the Effect of Pretraining on Architectural Abilities",
    "2505.21785",
)  # fmt: skip
SARROF = Paper(
    "sarrof2024expressive",
    ("Yash Sarrof", "Yana Veitsman", "Michael Hahn"),
    2024,
    "The Expressive Capacity of State Space Models: A Formal Language Perspective",
    "2405.17394",
)
GRAZZI = Paper(
    "grazzi2024unlocking",
    (
        "Riccardo Grazzi", "Julien Siems", "Arber Zela", "Jörg K. H. Franke", "Frank Hutter", "Massimiliano Pontil",
    ),
    2024,
    "Unlocking State-Tracking in Linear RNNs Through Negative Eigenvalues",
    "2411.12537",
)  # fmt: skip
HAHN = Paper(
    "hahn2024sensitive",
    ("Michael Hahn", "Mark Rofin"),
    2024,
    "Why are Sensitive Functions Hard for Transformers?",
    "2402.09963",
    "10.18653/v1/2024.acl-long.800",
)
KAWATA = Paper(
    "kawata2025shortcut",
    (
        "Ryotaro Kawata", "Yujin Song", "Alberto Bietti", "Naoki Nishikawa", "Taiji Suzuki", "Samuel Vaiter",
        "Denny Wu",
    ),
    2025,
    "From Shortcut to Induction Head: How Data Diversity Shapes Algorithm Selection in Transformers",
    "2512.18634",
)  # fmt: skip
HUANG_DYNAMICS = Paper(
    "huang2025regular",
    ("Ruiquan Huang", "Yingbin Liang", "Jing Yang"),
    2025,
    "How Transformers Learn Regular Language Recognition: A Theoretical Study on Training Dynamics and Implicit Bias",
    "2505.00926",
)
SLUTZKY = Paper(
    "slutzky2024poisoned",
    ("Yonatan Slutzky", "Yotam Alexander", "Noam Razin", "Nadav Cohen"),
    2024,
    "The Implicit Bias of Structured State Space Models Can Be Poisoned With Clean Labels",
    "2410.10473",
)
CHEN = Paper(
    "chen2025nonasymptotic",
    ("Thomas Chen", "Tengyu Ma", "Zhiyuan Li"),
    2025,
    "Non-Asymptotic Length Generalization",
    "2506.03085",
)
PROCA = Paper(
    "proca2025recurrent",
    ("Alexandra Maria Proca", "Clémentine Carla Juliette Dominé", "Murray Shanahan", "Pedro A. M. Mediano"),
    2025,
    "Learning dynamics in linear recurrent neural networks",
    "",
    volume="PMLR 267:49860-49902",
    page="https://proceedings.mlr.press/v267/proca25a.html",
)
COHEN_KARLIK_EXTRAPOLATION = Paper(
    "cohenkarlik2022extrapolation",
    ("Edo Cohen-Karlik", "Avichai Ben David", "Nadav Cohen", "Amir Globerson"),
    2022,
    "On the Implicit Bias of Gradient Descent for Temporal Extrapolation",
    "2202.04302",
)
COHEN_KARLIK_STATES = Paper(
    "cohenkarlik2022states",
    ("Edo Cohen-Karlik", "Itamar Menuhin-Gruman", "Raja Giryes", "Nadav Cohen", "Amir Globerson"),
    2022,
    "Learning Low Dimensional State Spaces with Overparameterized Recurrent Neural Nets",
    "2210.14064",
)
KOEVER = Paper(
    "koever2026geometry",
    ("Blanka Kövér", "Alexandra Butoi", "Anej Svete", "Michael Hahn", "Ryan Cotterell"),
    2026,
    "Understanding the Parameter Space Geometry of Transformers Encoding Boolean Functions",
    "2606.08768",
)
MERRILL = Paper(
    "merrill2020norm",
    ("William Merrill", "Vivek Ramanujan", "Yoav Goldberg", "Roy Schwartz", "Noah A. Smith"),
    2020,
    "Effects of Parameter Norm Growth During Transformer Training: Inductive Bias from Gradient Descent",
    "2010.09697",
)
VARRE = Paper(
    "varre2025ngrams",
    ("Aditya Varre", "Gizem Yüce", "Nicolas Flammarion"),
    2025,
    "Learning In-context n-grams with Transformers: Sub-n-grams Are Near-stationary Points",
    "2508.12837",
)
VAN_ROSSEM = Paper(
    "vanrossem2025parity",
    ("Loek van Rossem", "Andrew M. Saxe"),
    2025,
    "Algorithm Development in Neural Networks: Insights from the Streaming Parity Task",
    "2507.09897",
)
VELICKOVIC = Paper(
    "velickovic2024softmax",
    ("Petar Veličković", "Christos Perivolaropoulos", "Federico Barbero", "Razvan Pascanu"),
    2024,
    "Softmax is not Enough (for Sharp Size Generalisation)",
    "2410.01104",
)
LI = Paper(
    "li2025variance",
    ("Ruining Li", "Gabrijel Boduljak", "Jensen Zhou"),
    2025,
    "On Vanishing Variance in Transformer Length Generalization",
    "2504.02827",
)
ZSAMBOKI = Paper(
    "zsamboki2025complement",
    (
        "Pál Zsámboki", "Benjamin Levi", "David Ansel Josef Smith", "Mitansh Kagalwala", "Arlington Kell",
        "Samuel Liechty", "Cong Wang",
    ),
    2025,
    "Learning What's Missing: Attention Dispersion and EMA Stabilization in Length Generalization",
    "2510.08341",
)  # fmt: skip
CHUNG = Paper(
    "chung2026tracking",
    ("Jiwan Chung", "Heechan Choi", "Seon Joo Kim"),
    2026,
    "Rethinking State Tracking in Recurrent Models Through Error Control Dynamics",
    "2605.07755",
)
PAPERS = (
    HUANG, IZZO, GOLOWICH, JOBANPUTRA, SARROF, GRAZZI, HAHN, KAWATA, HUANG_DYNAMICS, SLUTZKY, CHEN, PROCA,
    COHEN_KARLIK_EXTRAPOLATION, COHEN_KARLIK_STATES, KOEVER, MERRILL, VARRE, VAN_ROSSEM, VELICKOVIC, LI, ZSAMBOKI,
    CHUNG,
)  # fmt: skip
RESULT_FILES = "result files of the published code"


def bibliography() -> str:
    """Return the text of ``docs/references.bib``."""
    head = "% The papers that claims come from. `make readmes` writes this from workbench/claims/papers.py.\n"
    return "\n".join([head, *(paper.entry for paper in sorted(PAPERS, key=lambda paper: paper.key))])


if __name__ == "__main__":
    print(bibliography(), end="")
