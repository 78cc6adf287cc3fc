"""Tables and JSON."""

import json
import os
import platform
import statistics
import time

import measure
from peers import processor_name


def table(header, rows):
    """A Markdown table; all columns but the first are numbers."""
    lines = [header, ["---"] + ["--:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def machine():
    return {
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "kernel": os.environ.get("ULP_KERNEL", "auto"),
        "load_average": os.getloadavg()[0],
        "time": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
    }


def conditions(series):
    """One line on where and how well this was measured."""
    rounds = max(len(one.encode) for one in series)
    line = f"{processor_name()}, one thread each, medians of {rounds} interleaved rounds, every round trip verified."
    share = statistics.median(one.busy for one in series)
    if measure.CLOCK == "cpu":
        line += " Speeds are by processor time."
    elif share < 0.93:
        line += f" The machine had other work: codecs got {share:.0%} of a processor, all speeds are too low."
    return line


def speeds(series):
    """Ratio and speeds by pair and codec. `†`: on the untiled file; `‡`: used more than one thread; `*`: a process, start and files included."""
    sections = []
    for pair in dict.fromkeys(one.pair for one in series):
        rows = []
        for one in (one for one in series if one.pair == pair):
            marks = ("†" if one.untiled else "") + ("*" if one.is_process else "") + ("‡" if one.busy > 1.15 else "")
            rows.append([one.codec + marks, f"{one.ratio:.4f}", f"{one.speed('encode'):.0f}", f"{one.speed('decode'):.0f}"])
        sections.append(f"**{pair}**\n\n" + table(["codec", "size / content", "encode MB/s", "decode MB/s"], rows))
    notes = "† on the untiled file, which its window would see repeat; * a process with files, its start included; ‡ more than one thread."
    return "\n\n".join(sections) + f"\n\n{notes} {conditions(series)}"


def save(path, series, **more):
    with open(path, "w") as file:
        json.dump({"machine": machine(), **more, "series": [one.as_json() for one in series]}, file, indent=1)
        file.write("\n")
    print(f"\nwritten: {path}")
