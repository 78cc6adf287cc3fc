"""What type checkers are told, where mypy is installed."""

import subprocess
import sys

import pytest

pytest.importorskip("mypy")


def found(*arguments, directory):
    """What a checker says of the package as it is installed."""
    return subprocess.run([sys.executable, "-m", *arguments], cwd=directory, capture_output=True, text=True).stdout


def test_the_stub_says_what_the_native_module_has(tmp_path):
    assert "no issues found" in found("mypy.stubtest", "ulpack._native", directory=tmp_path)


def test_the_package_agrees_with_itself(tmp_path):
    (tmp_path / "user.py").write_text(
        "import ulpack\n"
        "with ulpack.open('x', 'wb') as out:\n"
        "    out.write(ulpack.compress(b'', level=1))\n"
        "with ulpack.open('x') as content:\n"
        "    first: bytes = content.read(1)\n"
        "ulpack.compress(b'', level='fast')\n"
        "ulpack.open('x', 'rb', level=1)\n"
    )
    said = found("mypy", "--ignore-missing-imports", "--disallow-untyped-defs", "-p", "ulpack", directory=tmp_path)
    assert "no issues found" in said, said
    # A user's mistakes are seen, and nothing else.
    said = found("mypy", "user.py", directory=tmp_path)
    assert "user.py:6: error" in said and "user.py:7: error" in said and said.count("error: ") == 2, said
