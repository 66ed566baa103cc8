"""The ground floor function by function: names that were meant, sentences about settings, canonical text, seeds, what is told apart."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from workbench.core.canonical import canonical, key_of, leaves
from workbench.core.construct import construct
from workbench.core.declared_fields import declared_fields, plain_fields
from workbench.core.errors import LensError, quoted_value
from workbench.core.failures import clause, isolate_errors
from workbench.core.html_card import card
from workbench.core.lazy import face
from workbench.core.registry import Registry
from workbench.core.seeds import seed_of
from workbench.core.suggest import LONGEST_NAME, MOST_NAMED, near_names, nearest


class Trouble(LensError, ValueError):
    """Raised by these tests."""


# ---- names ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "known", "says"), [
    ("rotery", ["alibi", "rotary"], "did you mean rotary?"), ("x", ["b", "a"], "known: b, a"), ("x", {"b", "a"}, "known: a, b"), ("x", frozenset("ba"), "known: a, b"),
    ("x", [], "known: none"), ("x", ["b", "a", "b"], "known: b, a"), (3, ["a"], "known: a"), (None, [], "known: none"),
    ("abcd1", ["abcd2", "abcd3", "abcd4", "abcd5"], "did you mean abcd5 or abcd4 or abcd3?"),
    ("a" * LONGEST_NAME, ["a" * LONGEST_NAME], f"did you mean {'a' * LONGEST_NAME}?"), ("a" * (LONGEST_NAME + 1), ["a" * LONGEST_NAME], f"known: {'a' * LONGEST_NAME}"),
])  # fmt: skip
def test_what_was_meant_by_a_name(name: object, known: Any, says: str) -> None:
    assert nearest(name, known) == says


def test_near_names_are_few_and_the_nearest_first() -> None:
    assert near_names("step", ["steps", "stop", "stamp", "strip", "stepp"]) == ("steps", "stepp", "stop")
    assert len(near_names("aaaa", [f"aaa{c}" for c in "bcdefg"])) == MOST_NAMED == 3
    assert near_names(["steps"], ["steps"]) == ()


@pytest.mark.parametrize(("value", "text"), [
    ("positions", "'positions'"), ([[[[[1]]]]], "[[[[[...]]]]]"), ([[[[1]]]], "[[[[1]]]]"), ("x" * 100, f"'{'x' * 37}...{'x' * 38}'"), ("x" * 78, f"'{'x' * 78}'"), (10**39, str(10**39)),
])  # fmt: skip
def test_what_was_given_is_quoted_in_short(value: object, text: str) -> None:
    assert quoted_value(value) == text
    assert len(quoted_value(value)) <= 80


def test_what_cannot_be_written_is_named_by_its_class() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise RuntimeError

    assert "Silent" in quoted_value(Silent())


# ---- settings ---------------------------------------------------------------------------------------------------------
class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    depth: int = 0


class Setting(BaseModel):
    model_config = ConfigDict(extra="forbid")
    steps: int
    rate: float = Field(default=0.1, gt=0)
    name: str = "a"
    loud: bool = False
    either: int | str = 0
    many: list[int] = []
    inner: Inner = Inner()

    @field_validator("name")
    @classmethod
    def _known(cls, value: str) -> str:
        if value == "bad":
            raise ValueError("no such thing, take a")
        return value


@pytest.mark.parametrize(("values", "sentence"), [
    ({"steps": 1, "rat": 2.0}, "the thing has no setting 'rat'; did you mean rate?"), ({"rat": 2.0}, "the thing has no setting 'rat'; did you mean rate?"),
    ({}, "the thing needs the setting steps"), ({"steps": "many"}, "the thing: steps takes a whole number, not 'many'"), ({"steps": 1.5}, "the thing: steps takes a whole number, not 1.5"),
    ({"steps": 1, "rate": "x"}, "the thing: rate takes a number, not 'x'"), ({"steps": 1, "name": 3}, "the thing: name takes a text, not 3"), ({"steps": 1, "loud": "maybe"}, "the thing: loud takes true or false, not 'maybe'"),
    ({"steps": 1, "rate": 0.0}, "the thing: rate: Input should be greater than 0, not 0.0"), ({"steps": 1, "name": "bad"}, "the thing: name: no such thing, take a, not 'bad'"),
    ({"steps": 1, "many": [1, "x"]}, "the thing: many.1 takes a whole number, not 'x'"), ({"steps": 1, "inner": {"depth": "x"}}, "the thing: inner.depth takes a whole number, not 'x'"),
    ({"steps": 1, "inner": {"deep": 1}}, "the thing: inner.deep: Extra inputs are not permitted, not 1"), ({"steps": 1, "either": []}, "the thing: either takes a whole number, not []"),
])  # fmt: skip
def test_settings_that_do_not_fit_in_one_sentence(values: Any, sentence: str) -> None:
    with pytest.raises(Trouble) as said:
        construct(Setting, values, "the thing", Trouble)
    assert str(said.value) == sentence


def test_settings_that_fit() -> None:
    assert construct(Setting, {"steps": 3}, "the thing", Trouble) == Setting(steps=3)


def test_fields_of_a_class_are_read_from_its_source() -> None:
    from workbench.models.transformer.config import ModelConfig
    from workbench.table.stored_json import Stored

    found = declared_fields("workbench.models.transformer.config", "ModelConfig")
    assert set(found) < set(ModelConfig.model_fields)
    assert found[:3] == ["n_heads", "log_scaling", "attention"]
    assert declared_fields("workbench.table.stored_json", "Stored") == [*Stored.model_fields] == []
    with pytest.raises(LookupError, match="class"):
        declared_fields("workbench.table.stored_json", "Nothing")


def test_plain_fields_are_checked_as_the_class_itself_checks_them() -> None:
    base = plain_fields("workbench.models.base.architecture", "Architecture")
    made = plain_fields("workbench.models.transformer.config", "ModelConfig", base)
    assert {"n_heads", "log_scaling", "attention", "d_head", "d_mlp", "attn_only", "d_model", "eps"} <= set(
        made.model_fields
    )
    assert "positions" not in made.model_fields
    made(n_heads=1, d_head=0, d_mlp=(3, 4), attention="linear", eps=0.0)
    for wrong in (
        {"n_heads": 0},
        {"d_head": -1},
        {"attention": "soft"},
        {"no_such": 1},
        {"eps": -1.0},
        {"eps": float("nan")},
        {"n_heads": 2**24 + 1},
    ):
        with pytest.raises(ValidationError):
            made(**wrong)


MODULE = """
from workbench.models.base.architecture import Size
from workbench.models.other.architecture import Width
from . import nothing
Count = Annotated[int, Field(ge=1)]
Pair = tuple[Count, Count]
Deep = Annotated[int, Field(ge=limits.X)]
Odd = int.real
first, second = int, int
seven = 7
Made = make(int)

class Other:
    z: int

class Own:
    \"\"\"A docstring.\"\"\"
    kind: ClassVar[str] = "own"
    _hidden: int = 3
    a: int
    b: Count = 2
    c: Pair = (1, 2)
    d: float = Field(default=1.0, gt=0)
    e: Foreign = 3
    f: int = make(3)
    g: Deep = 3
    h: int | None = None
    i: Literal["x", "y"] = "x"
    j: int.real = 3
    k: Made = 3
    l: Width = 3
    m: Size = 3
    self.o: int = 4
    p = 5
    def method(self) -> int: ...
"""


def test_fields_of_every_kind_of_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = tmp_path / "models" / "base"
    base.mkdir(parents=True)
    (tmp_path / "own.py").write_text(MODULE)
    (base / "architecture.py").write_text("Size = Annotated[int, Field(ge=1)]\nWidth = int\n")
    monkeypatch.setattr("workbench.core.declared_fields.ROOM", tmp_path)
    assert declared_fields("workbench.own", "Own") == list("abcdefghijklm")
    assert declared_fields("workbench.own", "Other") == ["z"]
    made = plain_fields("workbench.own", "Own")
    assert list(made.model_fields) == list("abcdhim")
    made(a=3, b=1, c=(1, 1), d=0.5, h=4, i="y", m=1)
    made()
    for wrong in ({"b": 0}, {"c": (1, 0)}, {"d": 0.0}, {"i": "z"}, {"m": 0}, {"a": "x"}, {"e": 3}):
        with pytest.raises(ValidationError):
            made(**wrong)
    with pytest.raises(LookupError, match=r"workbench\.own"):
        declared_fields("workbench.own", "Ow")


class Part(BaseModel):
    """Settings within settings."""

    model_config = ConfigDict(extra="forbid")
    size: int = Field(default=1, ge=1)


class Whole(BaseModel):
    """Settings of several types."""

    model_config = ConfigDict(extra="forbid")
    need: int
    parts: dict[str, Part] = {}
    many: list[int | str] = []


@pytest.mark.parametrize(("values", "says"), [
    ({}, "setting"), ({"nead": 1}, "'nead'.*need"),
    ({"need": "x"}, "'x'"), ({"need": 1, "parts": {"a": {"size": 0}}}, r"parts\.a\.size"),
    ({"need": 1, "parts": {"a b": {"size": 0}}}, r"parts\.size"), ({"need": 1, "parts": {"a": {"siz": 3}}}, r"parts\.a\.siz"),
    ({"need": 1, "many": [1, 2.5]}, r"many\.1"),
])  # fmt: skip
def test_places_of_what_does_not_fit(values: Any, says: str) -> None:
    with pytest.raises(Trouble, match=says):
        construct(Whole, values, "it", Trouble)


# ---- text -------------------------------------------------------------------------------------------------------------
def test_equal_values_have_equal_text_and_keys() -> None:
    value = {"b": [1, 2.5, None, True], "a": {"ü": "x y"}}
    assert canonical(value) == '{"a":{"ü":"x y"},"b":[1,2.5,null,true]}'
    assert key_of(value) == key_of({**value}) == hashlib.sha256(canonical(value).encode()).hexdigest()[:16]
    assert len(key_of({})) == 16
    assert key_of({"a": 1}) != key_of({"a": 1.0})
    assert leaves({"a": {"b": 1, "c": {"d": [2]}}, "e": None, "f": {}}) == {"a.b": 1, "a.c.d": [2], "e": None}
    assert leaves({"a": 1}, "x.") == {"x.a": 1}


def test_seeds_are_what_they_were() -> None:
    assert [seed_of(*parts) for parts in (("data", 0, 17), (), ("",), ("a", "b"), ("a/b",))] == SEEDS
    assert all(0 <= seed < 2**63 for seed in SEEDS)
    digest = hashlib.sha256(b"data/0/17").digest()
    assert seed_of("data", 0, 17) == int.from_bytes(digest[:8], "big") // 2
    assert any(seed_of(i) >= 2**62 for i in range(9))


SEEDS = [
    int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 1 for text in (b"data/0/17", b"", b"", b"a/b", b"a/b")
]


def test_a_card_escapes_and_leaves_out_what_says_nothing() -> None:
    made = card("a<b", [("x", 0), ("y", ""), ("z", None), ("w", "<i>"), ("v", False)], "1 < 2")
    assert made.startswith("<div><b>a&lt;b</b><table>")
    assert made.count("<tr>") == 3
    assert "&lt;i&gt;" in made
    assert made.endswith("</table><pre>1 &lt; 2</pre></div>")
    assert card("t", []) == "<div><b>t</b></div>"


# ---- one of many ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("error", "clause_of_it"), [
    (KeyError("x"), "KeyError: 'x'"), (ValueError(""), "ValueError"), (ValueError(" first.\nsecond"), "ValueError: first"),
    (ValueError("x" * 400), f"ValueError: {'x' * 300}"), (SystemExit(3), "it ends the program by sys.exit(3)"),
])  # fmt: skip
def test_whatever_one_of_many_raises_is_told_and_goes_no_further(error: BaseException, clause_of_it: str) -> None:
    heard: list[str] = []
    with isolate_errors(heard.append, "it is not done", exits=True):
        raise error
    assert re.fullmatch(rf"it is not done: {re.escape(clause_of_it)} \(at {re.escape(__file__)}:\d+\)", heard[0])
    assert clause(error) == clause_of_it


def test_an_error_for_readers_keeps_its_own_sentence() -> None:
    heard: list[str] = []
    with isolate_errors(heard.append, "it is not done"):
        raise Trouble("one.\ntwo")
    assert heard == ["one.\ntwo"]
    assert clause(Trouble("one.\ntwo")) == "one"


def test_what_ends_the_process_goes_through_and_what_ends_well_says_nothing() -> None:
    heard: list[str] = []
    with isolate_errors(heard.append, "it"):
        pass
    with pytest.raises(KeyboardInterrupt), isolate_errors(heard.append, "it"):
        raise KeyboardInterrupt
    assert heard == []


# ---- registries and faces ------------------------------------------------------------------------------------------------------
def test_a_registry_lists_finds_and_refuses() -> None:
    rooms: Registry[Any] = Registry(
        "module", Trouble, {"b": "workbench.core.seeds", "a": "json:loads"}, name_of=lambda thing: str(thing)
    )
    assert list(rooms) == ["b", "a"]
    assert len(rooms) == 2
    assert rooms["a"] is rooms.find("a") is json.loads
    assert "c" not in rooms
    assert rooms.register(7) == 7
    rooms.add("7", 7)
    for add, says in (
        (lambda: rooms.add("7", 8), "the module name '7' is taken already"),
        (lambda: rooms.find("c"), "unknown module 'c'"),
        (lambda: rooms.find(3), "unknown module 3"),
        (lambda: rooms.refuse_unknown(None), "unknown module None"),
    ):
        with pytest.raises(Trouble, match=says):
            add()
    with pytest.raises(KeyError):
        rooms["c"]
    rooms.add("broken", "workbench.core.no_such")
    with pytest.raises(Trouble, match="'broken'"):
        rooms.find("broken")
    assert rooms.announced_entry_points() == []


def test_a_face_loads_a_name_when_it_is_asked_for() -> None:
    find, names = face("workbench.core", {"seed_of": "seeds", "card": "html_card"})
    assert find("seed_of") is seed_of
    assert names() == ["card", "seed_of"]
    with pytest.raises(AttributeError, match="'x'"):
        find("x")
