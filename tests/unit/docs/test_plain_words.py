"""Every text that a reader sees is in plain words: no private word of docs/words.toml, no sentence of over 30 words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.support.scripts import script

plain_words = script("plain_words")
WORDS = plain_words.words()


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.word)
def test_a_pattern_finds_its_bad_sentence_and_not_its_good_one(word: object) -> None:
    def findings(text: str) -> list[object]:
        return list(plain_words.findings(plain_words.Passage("page.md", 1, text), [word], 30))

    assert findings(word.bad)
    assert not findings(word.good)


@pytest.mark.parametrize("surface", plain_words.SURFACES)
def test_a_surface_has_no_more_findings_than_allowed(surface: str) -> None:
    """The number in docs/words.toml may only fall, and follows what is written."""
    found = plain_words.of_surface(surface)
    wrong = plain_words.problem(plain_words.limits()[surface], plain_words.count(found))
    assert not wrong, "\n".join([f"{surface}: {wrong}", *map(str, found[:30])])


def test_a_finding_names_file_line_word_and_replacement() -> None:
    text = "# A title\n\nThe model holds its answer\non the challenge law.\n\n```\na law in code\n```\n\nOf `law` nothing.\n"
    (found,) = (
        finding
        for passage in plain_words.markdown_text(text, "docs/page.md", 1)
        for finding in plain_words.findings(passage, WORDS, 30)
    )
    assert (found.file, found.line, found.word) == ("docs/page.md", 4, "law")
    assert str(found).startswith("docs/page.md:4: law -> test set")


def test_a_long_sentence_is_found_with_its_line_and_names_are_one_word() -> None:
    text = "Short.\n" + "A `b c d` --option e.g. x.y=z " * 6 + "end."
    (found,) = plain_words.findings(plain_words.Passage("a.py", 10, text), WORDS, 24)
    assert (found.line, found.long) == (11, True)
    assert "31 words" in str(found)


def test_lines_survive_comments_code_and_what_scripts_write() -> None:
    text = (
        "<!-- a\nb -->\n<!-- table -->\na law\n<!-- end of table -->\n\n| x | a law |\n|---|---|\n\n- [a law](b.md)\n"
    )
    passages = list(plain_words.markdown_text(text, "page.md", 1))
    at = [found.line for passage in passages for found in plain_words.findings(passage, WORDS, 30)]
    assert at == [7, 10]


def test_the_numbers_may_fall_and_not_rise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Count, copy = plain_words.Count, tmp_path / "words.toml"
    copy.write_text("[limits]\nwords_a_sentence = 30\n[surfaces]\nhelp = { words = 20, long_sentences = 2 }\n")
    monkeypatch.setattr(plain_words, "LIST", copy)
    assert plain_words.problem(Count(20, 2), Count(19, 2)) == ""
    assert "--write" in plain_words.problem(Count(20, 2), Count(17, 2))
    assert "1 of them" in plain_words.problem(Count(0, 0), Count(1, 0))
    with pytest.raises(SystemExit, match="help"):
        plain_words.write({"help": Count(10, 3)})
    plain_words.write({"help": Count(10, 2)})
    assert plain_words.limits() == {"help": Count(10, 2)}


def test_every_stored_message_is_still_raised() -> None:
    texts = {
        plain_words.text_of(node)
        for source in plain_words.sources(*plain_words.PACKAGES)
        for node in source.parents
        if plain_words.is_raised(source, node)
    }
    assert sorted({*plain_words.listed()["stored"]["messages"]} - texts) == []


def test_every_surface_is_counted_and_has_texts() -> None:
    assert {*plain_words.limits()} == {*plain_words.SURFACES}
    for name in plain_words.SURFACES:
        files = {passage.file for passage in plain_words.passages(name)}
        assert files, name
        assert all((ROOT / file).is_file() for file in files)


VERBS = {
    "Ablate", "Add", "Allow", "Assume", "Change", "Check", "Choose", "Compare", "Compile", "Compute", "Continue", "Convert", "Copy", "Count", "Define", "Delete", "Describe", "Diagnose", "Do", "Draw", "Estimate", "Evaluate", "Export", "Find", "Fork", "Give", "Hide", "Keep", "Let", "List", "Listen", "Make", "Measure", "Multiply", "Name", "Open", "Patch", "Plot", "Point", "Predict", "Prepare", "Print", "Prompt", "Publish", "Put", "Read", "Rename", "Replace", "Report", "Reproduce", "Run", "Save", "Score", "Set", "Show", "Start", "State", "Stop", "Train", "Use", "Write",
}  # fmt: skip


def test_every_help_text_begins_with_a_verb() -> None:
    from workbench.cli.main import BuiltCommands

    texts = {}
    for name, command in BuiltCommands().items():
        texts[name] = command.help
        texts |= {f"{name} {option.name}": option.help for option in command.params if option.name != "help"}
    first = {name: (text or "").partition(" ")[0] for name, text in texts.items()}
    assert {name: word for name, word in first.items() if word not in VERBS} == {}
