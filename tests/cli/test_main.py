"""The front door of the command line: choosing a command, and what becomes of failure."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

import kafkawire
from kafkawire.cli import commands, errors
from kafkawire.cli.main import main
from kafkawire.implementation import describe

COMMAND = [sys.executable, "-m", "kafkawire"]


def failing(monkeypatch: pytest.MonkeyPatch, failure: BaseException) -> None:
    def run(args: argparse.Namespace) -> int:
        raise failure

    monkeypatch.setattr(errors, "run", run)


def test_version_names_the_release_and_the_implementation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"kafkawire {kafkawire.__version__} ({describe()})")


def test_help_lists_the_commands_with_their_lines_and_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    for summary in commands.summaries():
        assert f"  {summary.name} " in printed
        assert summary.help in printed
    assert errors.EXAMPLES[0] in printed


def test_no_command_prints_the_help_as_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "commands:" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["errors", "--help"], ["help", "errors"]])
def test_help_of_a_command(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("usage: kafkawire errors")
    assert errors.HELP in printed
    assert errors.EXAMPLES[-1] in printed


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("eror", "there is no command 'eror'; did you mean 'errors'?"),
        ("zzzzz", "there is no command 'zzzzz'; `kafkawire --help` lists them"),
        ("main", "there is no command 'main'"),
        ("output", "there is no command 'output'"),
        ("../errors", "there is no command '../errors'"),
        ("", "there is no command ''"),
    ],
)
def test_a_mistyped_command_is_a_usage_error(typed: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([typed]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"), [(["-b", "k", "-C", "-t", "x"], "consume"), (["-L"], "topics describe"), (["-P"], "produce")]
)
def test_a_mode_of_kcat_is_met_with_its_command(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert f"is `kafkawire {said}`" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--nonsense"], ["errors", "--nonsense"]])
def test_a_mistyped_option_is_a_usage_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "--nonsense" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("failure", "code", "said"),
    [
        (kafkawire.KafkaWireError("batch at byte 7:\n  corrupt"), 1, "kafkawire: batch at byte 7: corrupt\n"),
        (commands.UsageError("give one of --a and --b"), 2, "kafkawire: give one of --a and --b\n"),
        (
            FileNotFoundError(2, "No such file or directory", "x.bin"),
            1,
            "kafkawire: x.bin: No such file or directory\n",
        ),
        (OSError("something else"), 1, "kafkawire: something else\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
    ids=repr,
)
def test_failure_is_one_line_and_a_code(
    failure: BaseException,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    failing(monkeypatch, failure)
    assert main(["errors"]) == code
    assert capsys.readouterr() == ("", said)


def test_a_fault_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        main(["errors"])


def test_a_reader_that_leaves_early_is_no_error_to_speak_of() -> None:
    with subprocess.Popen([*COMMAND, "errors"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (141, b"")


def test_text_that_the_terminal_cannot_encode_is_escaped() -> None:
    code = "import sys; from kafkawire.cli.main import main; main(['help']); print('\\u2192')"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=environment)
    assert run.stdout.endswith(b"\\u2192\n")


def test_a_chosen_command_imports_nothing_heavy() -> None:
    code = (
        "import sys; from kafkawire.cli.main import main; main(['errors', '3']);"
        "heavy = {'pyarrow', 'numpy', 'pyspark', 'asyncio'};"
        "sys.exit(' '.join(heavy & set(sys.modules)) or 0)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (run.returncode, run.stderr) == (0, b"")


def test_listing_reads_the_files_and_imports_none(tmp_path: Path) -> None:
    (tmp_path / "dump_log.py").write_text('raise SystemExit\nHELP: str = "reads a log"\nEXAMPLES = ("a", "b")\n')
    (tmp_path / "tables.py").write_text("WIDTH = 1\n")
    assert commands.summaries(tmp_path) == [("dump-log", "reads a log", ("a", "b"))]


@pytest.mark.parametrize("summary", commands.summaries(), ids=lambda summary: summary.name)
def test_every_command_keeps_the_contract(summary: commands.Summary) -> None:
    command = commands.load(summary.name)
    assert "\n" not in summary.help
    assert len(summary.help) <= 100
    assert commands.parser_for(summary.name, command).prog == f"kafkawire {summary.name}"
