import io
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import ulpack


def test_paths(weights, tmp_path):
    prev = tmp_path / "prev"
    prev.write_bytes(weights(0).tobytes())
    content = weights(1).tobytes()
    path = tmp_path / "next.ulp"
    with ulpack.open(path, "wb", ref=prev, dtype="f32") as file:
        for at in range(0, len(content), 70_001):
            assert file.write(content[at : at + 70_001]) == len(content[at : at + 70_001])
        assert not path.exists()
    with ulpack.open(path, ref=prev) as file:
        assert file.read(10) == content[:10]
        rest = bytearray(1000)
        assert file.readinto(rest) == 1000 and rest == content[10:1010]
        assert file.read() == content[1010:]
        assert file.read() == b""
    assert ulpack.decompress(path.read_bytes(), ref=prev) == content


def test_a_file_that_fails_does_not_appear(weights, tmp_path):
    path = tmp_path / "next.ulp"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError):
        with ulpack.open(path, "wb") as file:
            file.write(weights(0))
            raise RuntimeError
    assert path.read_bytes() == b"old"
    file = ulpack.open(path, "wb")
    file.write(b"never closed")
    del file
    assert [p.name for p in tmp_path.iterdir()] == ["next.ulp"]
    assert path.read_bytes() == b"old"


def test_file_objects_stay_open(weights):
    content = weights(0).tobytes()
    out = io.BytesIO()
    with ulpack.open(out, "wb") as file:
        file.write(content)
    out.seek(0)
    with ulpack.open(out) as file:
        assert file.read() == content
    assert not out.closed


def test_references_that_are_read_forward(weights):
    prev, content = weights(0).tobytes(), weights(1).tobytes()

    class Pipe(io.RawIOBase):
        def __init__(self, content):
            self.inner = io.BytesIO(content)

        def readable(self):
            return True

        def read(self, size=-1):
            return self.inner.read(min(size, 10_007) if size > 0 else size)

    out = io.BytesIO()
    with ulpack.open(out, "wb", ref=Pipe(prev), dtype="f32") as file:
        file.write(content)
    with ulpack.open(io.BytesIO(out.getvalue()), ref=Pipe(prev)) as file:
        assert file.read() == content


def test_sockets(weights):
    """Streams need no seeking: compressed on one side of a socket, restored on the other."""
    left, right = socket.socketpair()
    content = weights(0).tobytes()

    def send():
        with left, left.makefile("wb") as raw, ulpack.open(raw, "wb") as file:
            file.write(content)

    thread = threading.Thread(target=send)
    thread.start()
    with right, right.makefile("rb") as raw, ulpack.open(raw) as file:
        assert file.read() == content
    thread.join()


def test_errors_of_files_pass_through(weights):
    class Broken(io.RawIOBase):
        def writable(self):
            return True

        def readable(self):
            return True

        def write(self, data):
            raise ZeroDivisionError("mine")

        def read(self, size=-1):
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError):
        with ulpack.open(Broken(), "wb") as file:
            file.write(weights(0))
    with pytest.raises(ZeroDivisionError):
        ulpack.open(Broken()).read(1)


def test_what_is_read_before_an_error_is_right(weights):
    content = np.concatenate([weights(0)] * 12).tobytes()
    coded = bytearray(ulpack.compress(content, dtype="f32"))
    coded[-5000] ^= 1
    got = b""
    with pytest.raises(ulpack.UlpError):
        with ulpack.open(io.BytesIO(coded)) as file:
            while piece := file.read(65536):
                got += piece
    assert len(got) > 1 << 20 and content.startswith(got)


def test_modes():
    with pytest.raises(ValueError):
        ulpack.open(io.BytesIO(), "a")


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_control_c():
    """Long work ends with KeyboardInterrupt within a moment."""
    program = textwrap.dedent("""
        import ulpack, numpy as np, signal
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        data = np.random.default_rng(0).standard_normal(1 << 22).astype(np.float32)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            while True:
                ulpack.compress(data, level=9, threads=1)
        except KeyboardInterrupt:
            print("interrupted")
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "interrupted\n", done.stderr


def test_fsspec(weights, tmp_path):
    fsspec = pytest.importorskip("fsspec")
    content = weights(0).tobytes()
    path = tmp_path / "x.safetensors.ulp"
    path.write_bytes(ulpack.compress(content))
    with fsspec.open(str(path), compression="infer") as file:
        assert file.read() == content
    with fsspec.open(str(tmp_path / "y.ulp"), "wb", compression="infer") as file:
        file.write(content)
    assert ulpack.decompress((tmp_path / "y.ulp").read_bytes()) == content
