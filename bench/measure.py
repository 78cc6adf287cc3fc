"""Clocks: wall and processor time of a call, of another process, of a request."""

import gc
import os
import statistics
import subprocess
import time
from dataclasses import dataclass, field


# What speeds are computed from, "wall" or "cpu": the second makes sense on a machine that has other work.
CLOCK = "wall"


@dataclass
class Timing:
    wall: float
    cpu: float
    # Peak resident memory in MiB, of processes.
    peak: float = 0.0


@dataclass
class Series:
    """All timings of one codec on one pair."""

    codec: str
    pair: str
    content: int
    coded: int = 0
    # Measured on the untiled file; as a process.
    untiled: bool = False
    is_process: bool = False
    encode: list = field(default_factory=list)
    decode: list = field(default_factory=list)

    def median(self, direction, clock=None):
        return statistics.median(getattr(timing, clock or CLOCK) for timing in getattr(self, direction))

    def speed(self, direction):
        """MB/s of content."""
        return self.content / self.median(direction) / 1e6

    @property
    def ratio(self):
        return self.coded / self.content

    @property
    def busy(self):
        """Processor time by wall time: below 1 the machine had other work, above 1 the codec used more than one thread."""
        wall = self.median("encode", "wall") + self.median("decode", "wall")
        return (self.median("encode", "cpu") + self.median("decode", "cpu")) / wall

    def peak(self, direction):
        """Largest resident memory of any round, in MiB."""
        return max(timing.peak for timing in getattr(self, direction))

    def as_json(self):
        result = {"codec": self.codec, "pair": self.pair, "content_bytes": self.content, "coded_bytes": self.coded, "ratio": self.ratio, "untiled": self.untiled, "process": self.is_process}
        for direction in ("encode", "decode"):
            result[f"{direction}_mb_per_s"] = self.speed(direction)
            for clock in ("wall", "cpu"):
                result[f"{direction}_{clock}_seconds"] = [getattr(timing, clock) for timing in getattr(self, direction)]
        return result


def call(function, *arguments, pinned=False, **keywords):
    """The result, and what it cost this process; `pinned` keeps codecs that start threads unasked on one processor."""
    processors = os.sched_getaffinity(0)
    if pinned:
        os.sched_setaffinity(0, {max(processors)})
    gc.collect()
    gc.disable()
    cpu, wall = time.process_time(), time.perf_counter()
    try:
        result = function(*arguments, **keywords)
        return result, Timing(time.perf_counter() - wall, time.process_time() - cpu)
    finally:
        gc.enable()
        os.sched_setaffinity(0, processors)


def process(command, stdout=subprocess.DEVNULL):
    """What a command costs, start and end included."""
    start = time.perf_counter()
    child = subprocess.Popen(list(map(str, command)), stdout=stdout, stderr=subprocess.PIPE)
    error = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    child.stderr.close()
    if child.returncode:
        raise RuntimeError(f"{command[0]}: exit {child.returncode}: {error.decode(errors='replace').strip()}")
    return Timing(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
