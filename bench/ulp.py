"""ulp itself: in memory, through the server of `examples/bench_memory.rs`, and as a process."""

import os
import subprocess

from inputs import TARGET
from measure import Timing, process
from peers import Codec, Files, Unavailable, WrongBytes

LEVEL_OPTION = {1: "-1", 5: "-5", 9: "-9"}


class Memory(Codec):
    """In memory: one thread, CRCs included, a new buffer for each result."""

    def __init__(self, pair, level=5, kernel=None):
        super().__init__(pair)
        self.mode = "plain" if pair.is_plain else "reference"
        self.name = f"ulp -{level}" if level != 5 else "ulp"
        environment = dict(os.environ)
        if kernel:
            self.name += f" ({kernel})"
            environment["ULP_KERNEL"] = kernel
        program = TARGET / "examples/bench_memory"
        if not program.exists():
            raise Unavailable(f"no {program}: run bench/setup.sh")
        jobs = pair.work.write("jobs", f"{self.job(pair, level)}\n".encode())
        self.server = subprocess.Popen([program, jobs], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        if not self.server.stdout.readline().startswith("ready"):
            raise Unavailable("bench_memory did not start")
        try:
            self.encode()
        except (RuntimeError, OSError) as error:
            self.close()
            raise Unavailable(str(error)) from error

    def job(self, pair, level):
        """The line that tells the server what to code."""
        return f"job {pair.element} {level} {pair.next_path} {pair.prev_path or '-'}"

    def ask(self, request):
        self.server.stdin.write(f"{request} job\n")
        self.server.stdin.flush()
        answer = self.server.stdout.readline().split(" ", 1)
        if answer[0] in ("", "error"):
            raise RuntimeError(f"{self.name}: {request}: {answer[-1].strip() or 'the server ended'}")
        cpu, size = answer[1].split()
        return Timing(float(answer[0]), float(cpu)), int(size)

    def encode(self):
        timing, self.coded = self.ask("encode")
        return timing

    def decode(self):
        return self.ask("decode")[0]

    def close(self):
        self.server.stdin.close()
        self.server.wait()
        self.server.stdout.close()


class Process(Files):
    """The command, from file to file."""

    def __init__(self, pair, level=5, threads=1):
        self.untiled = False
        super().__init__(pair)
        self.mode = "plain" if pair.is_plain else "reference"
        self.program = TARGET / "ulp"
        if not self.program.exists():
            raise Unavailable(f"no {self.program}: run bench/setup.sh")
        self.name = f"ulp{LEVEL_OPTION[level] if level != 5 else ''} -T{threads} process"
        self.options = [LEVEL_OPTION[level], f"-T{threads}", "-q", "-f"]
        self.reference_option = ["--ref", pair.prev_path] if pair.prev_path else []
        try:
            self.encode()
        except (RuntimeError, OSError) as error:
            raise Unavailable(str(error)) from error

    def encode_command(self):
        return [self.program, "-c", *self.options, "--dtype", self.pair.element, *self.reference_option, "-o", self.stream, self.next_path]

    def decode_command(self):
        return [self.program, "-d", *self.options[1:], *self.reference_option, "-o", self.output, self.stream]


class ToNowhere(Codec):
    """The command, from files to nothing: what it costs without a file system. The pair's content is never in this process."""

    is_process = True

    def __init__(self, pair, level=5, threads=1):
        self.pair, self.content_bytes, self.untiled = pair, pair.size, False
        self.program = TARGET / "ulp"
        if not self.program.exists():
            raise Unavailable(f"no {self.program}: run bench/setup.sh")
        self.name = f"ulp{LEVEL_OPTION[level] if level != 5 else ''} -T{threads} to nowhere"
        reference = ["--ref", pair.prev_path] if pair.prev_path else []
        self.encode_command = [self.program, "-c", LEVEL_OPTION[level], f"-T{threads}", "-q", "--dtype", pair.element, *reference, pair.next_path]
        self.stream = pair.work / f"stream-{level}-{threads}"
        self.decode_command = [self.program, "-dc", f"-T{threads}", "-q", *reference, self.stream]
        self.round_trip()

    def round_trip(self):
        """Makes the stream that `decode` reads, and checks it once: later rounds have the checks of the stream itself."""
        try:
            with open(self.stream, "wb") as stream:
                process(self.encode_command, stream)
        except (RuntimeError, OSError) as error:
            raise Unavailable(str(error)) from error
        self.coded = self.stream.stat().st_size
        decoder = subprocess.Popen(self.decode_command, stdout=subprocess.PIPE)
        same = subprocess.run(["cmp", "-", self.pair.next_path], stdin=decoder.stdout).returncode == 0
        decoder.stdout.close()
        if decoder.wait() or not same:
            raise WrongBytes(f"{self.name}: the round trip changed the content")

    def encode(self):
        return process(self.encode_command)

    def decode(self):
        return process(self.decode_command)

    def close(self):
        self.stream.unlink(missing_ok=True)
