"""RESULTS.md keeps what was not measured again: notes, other sections, other rows."""

import io

import pytest

DOCUMENT = """# Results

What this is.

## Speed

fast

## Kills

25 of 25

## Notes
- by hand ## not a heading
"""
MACHINE = "Machine: 2 cores."


@pytest.fixture
def section(beside):
    return beside("section")


@pytest.fixture
def report(beside):
    return beside("report")


def test_one_section_is_replaced_and_the_others_stay(section):
    assert section.with_section(DOCUMENT, "Speed", "faster\n\n- and how") == DOCUMENT.replace(
        "fast\n", "faster\n\n- and how\n"
    )


def test_a_new_section_stands_before_the_notes(section):
    written = section.with_section(DOCUMENT, "Faults", "none")
    assert written == DOCUMENT.replace("## Notes\n", "## Faults\n\nnone\n\n## Notes\n")


def test_a_section_that_is_written_twice_is_the_same_document(section):
    once = section.with_section(DOCUMENT, "Kills", "200 of 200")
    assert section.with_section(once, "Kills", "200 of 200") == once


def test_a_section_can_be_read_and_an_absent_one_is_empty(section):
    assert section.section_of(DOCUMENT, "Kills") == "25 of 25"
    assert section.section_of(DOCUMENT, "Owners") == ""


def test_a_text_with_headings_of_sections_is_refused(section, tmp_path):
    with pytest.raises(ValueError, match="use '### '"):
        section.write_section("Kills", "two\n## Notes\nof mine", tmp_path / "RESULTS.md")
    assert not (tmp_path / "RESULTS.md").exists()


def test_a_file_that_is_not_there_is_begun(section, tmp_path):
    section.write_section("Kills", "25 of 25", tmp_path / "RESULTS.md")
    assert (tmp_path / "RESULTS.md").read_text() == "# Results\n\n## Kills\n\n25 of 25\n"


def test_the_results_as_they_stand_survive_being_written_again(section):
    document = section.RESULTS.read_text()
    for title in ("Speed", "Notes"):
        assert section.section_of(document, title)
        again = section.with_section(document, title, section.section_of(document, title))
        assert section.section_of(again, "Notes") == section.section_of(document, "Notes")
        assert again.split() == document.split()


def test_a_row_takes_the_place_of_its_name_and_the_others_keep_their_date(report):
    first = [report.Row("a", "1 s", detail="one."), report.Row("b", "2 s", "by hand 1 s", "2", "≤ 1", False, "two.")]
    text = report.merged("", first, about=MACHINE, taken="2026-01-01")
    text = report.merged(
        text, [report.Row("a", "3 s", is_met=True, detail="three.")], about=MACHINE, taken="2026-02-02"
    )
    assert text.splitlines() == [
        MACHINE,
        "",
        *report.HEADER.splitlines(),
        "| a | 3 s |  |  |  | met | 2026-02-02 |",
        "| b | 2 s | by hand 1 s | 2 | ≤ 1 | missed | 2026-01-01 |",
        "",
        "- **a**: three.",
        "- **b**: two.",
    ]


def test_rows_of_another_machine_go(report):
    text = report.merged("", [report.Row("a", "1 s", detail="one.")], about=MACHINE, taken="2026-01-01")
    text = report.merged(text, [report.Row("b", "2 s", detail="two.")], about="Machine: 4 cores.", taken="2026-01-01")
    assert "| a |" not in text
    assert "**a**" not in text


def test_what_a_script_prints_is_read_below_what_libraries_print(report, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["script.py", "--short"])
    sizes = []
    report.tell(lambda is_short: sizes.append(is_short) or [report.Row("a", "1 s", is_met=True)])
    assert sizes == [True]
    assert report.told("a warning\n" + capsys.readouterr().out) == [report.Row("a", "1 s", is_met=True)]


def test_a_command_is_piped_into_a_section(section, beside, tmp_path, monkeypatch):
    monkeypatch.setattr(section, "RESULTS", tmp_path / "RESULTS.md")
    monkeypatch.setattr("sys.stdin", io.StringIO("25 of 25\n"))
    section.main(["section.py", "Kills"])
    assert (tmp_path / "RESULTS.md").read_text().endswith("## Kills\n\n25 of 25\n")
