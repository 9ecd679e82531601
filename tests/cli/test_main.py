"""The front door of the command line: choosing a command, and what becomes of failure."""

import argparse
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import kafkawire
from kafkawire._native import describe
from kafkawire.cli import registry as commands
from kafkawire.cli.commands import errors
from kafkawire.cli.main import main

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
        ("eror", "unknown command 'eror'; did you mean 'errors'?"),
        ("zzzzz", "unknown command 'zzzzz'; `kafkawire --help` lists all commands"),
        ("main", "unknown command 'main'"),
        ("output", "unknown command 'output'"),
        ("../errors", "unknown command '../errors'"),
        ("", "unknown command ''"),
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
        (
            commands.UsageError("give one of --a and --b"),
            2,
            "usage: kafkawire errors [-h] [--json] [CODE|NAME|TEXT ...]\nkafkawire: give one of --a and --b\n",
        ),
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


def test_a_reader_that_leaves_early_causes_no_error_message() -> None:
    with subprocess.Popen([*COMMAND, "errors"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (141, b"")


@pytest.mark.parametrize("arguments", [["errors"], ["api", "list"], ["--version"], ["--help"], ["api", "nonsense"]])
def test_a_closed_standard_output_ends_quietly(arguments: list[str]) -> None:
    shell = f"exec {' '.join(map(shlex.quote, [*COMMAND, *arguments]))} >&-"
    done = subprocess.run(["sh", "-c", shell], stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == (2 if "nonsense" in arguments else 0)
    assert b"Traceback" not in done.stderr
    assert b"ignored" not in done.stderr


def test_an_error_after_the_reader_left_is_still_reported() -> None:
    code = (
        "import sys; from kafkawire.cli import main as m; from kafkawire.exceptions import KafkaWireError\n"
        "def run(arguments):\n    print('x' * 100); raise KafkaWireError('broken')\n"
        "m._dispatch = run; sys.exit(m.main([]))"
    )
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=buffered
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (1, b"kafkawire: broken\n")


def test_a_person_sees_help_in_colour_and_a_program_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = {}
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stdout", stream)
        assert main(["errors", "--help"]) == 0
        shown[stream.isatty()] = stream.getvalue()
    assert "\x1b[36m--json\x1b[0m" in shown[True]
    assert re.sub(r"\x1b\[\d*m", "", shown[True]) == shown[False]


def test_the_version_needs_little_time_and_neither_rich_nor_arrow() -> None:
    code = (
        "import sys, time; from kafkawire.cli.main import main; main(['--version']); "
        "print(time.process_time(), [name for name in ('rich', 'pyarrow', 'asyncio') if name in sys.modules])"
    )
    done = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    seconds, _, modules = min(each.stdout.splitlines()[-1] for each in done).partition(" ")
    assert modules == "[]"
    assert float(seconds) < 0.15


def test_a_usage_error_shows_the_usage_of_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["api", "show", "Fetch", "--version", "99"]) == 2
    assert capsys.readouterr().err.startswith("usage: kafkawire api show [-h]")
    assert main(["log", "stats", "--top", "-1", "x"]) == 2
    assert "expected a whole number from 0 on" in capsys.readouterr().err


def test_the_name_of_an_api_needs_no_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["api", "Fetch", "--request"]) == 0
    assert capsys.readouterr().out.startswith("FetchRequest v")
    assert main(["api", "Fetsch"]) == 2
    assert "did you mean Fetch?" in capsys.readouterr().err


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


def test_an_unknown_option_of_a_verb_shows_the_usage_of_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", "describe", "app", "--offsets"]) == 2
    assert capsys.readouterr().err.startswith("usage: kafkawire groups describe [-h]")


def test_a_missing_verb_is_an_error_that_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics"]) == 2
    assert "expected list, describe, create, grow, delete or offsets\n" in capsys.readouterr().err


@pytest.mark.parametrize("when", ["-2h", "@-2h", "12:30", "@12:30", "@2026-01-31T12:00", "@1700000000000"])
def test_times_have_one_syntax(when: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "missing.pcap")
    assert main(["inspect", missing, "--since", when]) == 1
    assert capsys.readouterr().err == f"kafkawire: {missing}: No such file or directory\n"
