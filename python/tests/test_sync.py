import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import ulpack
from ulpack.sync import DeltaPublisher, DeltaSubscriber


def tensors(step):
    """Weights that move a little, one that moves once, one that never does."""
    rng = np.random.default_rng(0)
    base = rng.standard_normal((300, 400)).astype(np.float32) * 0.02
    for k in range(step):
        base[rng.random(base.shape) < 0.05] *= np.float32(1.001)
    return {
        "w": base,
        "half": base[:50].astype(np.float16),
        "late": np.full(1000, step >= 3, np.uint8),
        "fixed": np.arange(777, dtype=np.int64),
        "scalar": np.array(step, np.int32),
    }


def empty():
    return {name: np.zeros_like(array) for name, array in tensors(0).items()}


def same(a, b):
    assert a.keys() == b.keys()
    for name in a:
        assert np.array_equal(a[name], b[name]), name


def publish(path, steps, **kwargs):
    publisher = DeltaPublisher(path, **kwargs)
    for step in steps:
        publisher.publish(tensors(step))
    return publisher


def test_versions_follow_each_other(tmp_path):
    publisher = DeltaPublisher(tmp_path / "run", anchor_every=10)
    target = empty()
    subscriber = DeltaSubscriber(tmp_path / "run", target)
    with pytest.raises(FileNotFoundError):
        subscriber.update()
    for step in range(6):
        manifest = publisher.publish(tensors(step))
        done = subscriber.update()
        assert done["version"] == subscriber.version == manifest.version == step + 1
        same(target, tensors(step))
        if step > 0:
            assert done["bytes"] < 30_000
    assert subscriber.update() == {"version": 6, "bytes": 0, "tensors": 0}
    assert not [name for name in os.listdir(tmp_path / "run") if name.startswith(".")]


def test_what_does_not_change_costs_nothing(tmp_path):
    publisher = publish(tmp_path, [1, 2])
    manifest = publisher.publish(tensors(2))
    assert manifest.delta is not None and manifest.bytes_of("delta") == 0
    files = {entry.name: entry.file for entry in publisher.publish(tensors(3)).delta}
    assert files["fixed"] is None and files["w"] is not None


def test_anchors_are_used_where_they_are_smaller(tmp_path):
    publish(tmp_path, range(8), anchor_every=3)
    kinds = {v: json.loads((tmp_path / f"v{v:08d}" / "manifest.json").read_text()) for v in range(1, 9)}
    assert [v for v in kinds if kinds[v]["anchor"]] == [1, 4, 7]
    target = empty()
    # Seven is an anchor, eight a delta: no more than these are read.
    done = DeltaSubscriber(tmp_path, target).update()
    size = lambda version, kind: sum(entry["length"] for entry in kinds[version][kind])
    assert done["bytes"] == size(7, "anchor") + size(8, "delta")
    same(target, tensors(7))
    # One that is not far behind takes the deltas.
    target = tensors(5)
    assert DeltaSubscriber(tmp_path, target).update()["bytes"] == size(7, "delta") + size(8, "delta")
    same(target, tensors(7))


def test_targets_are_recognised_by_their_bytes(tmp_path):
    publish(tmp_path, range(4))
    for step in range(4):
        target = tensors(step)
        subscriber = DeltaSubscriber(tmp_path, target)
        subscriber.update()
        same(target, tensors(3))


def test_any_version(tmp_path):
    publish(tmp_path, range(5))
    target = empty()
    subscriber = DeltaSubscriber(tmp_path, target)
    for version in (2, 3, 5):
        subscriber.update(version)
        same(target, tensors(version - 1))
    with pytest.raises(ulpack.ReferenceMismatch):
        subscriber.update(3)
    with pytest.raises(FileNotFoundError):
        subscriber.update(9)


def test_forks_and_changed_targets_are_refused(tmp_path):
    publish(tmp_path / "a", [0, 1, 2])
    publish(tmp_path / "b", [0, 2, 4])
    target = empty()
    subscriber = DeltaSubscriber(tmp_path / "a", target)
    subscriber.update(2)
    subscriber.path = tmp_path / "b"
    before = {name: array.copy() for name, array in target.items()}
    with pytest.raises(ulpack.ReferenceMismatch, match="fork"):
        subscriber.update()
    same(target, before)
    subscriber.path = tmp_path / "a"
    target["w"][3, 3] += 1
    before = {name: array.copy() for name, array in target.items()}
    with pytest.raises(ulpack.ReferenceMismatch, match="w"):
        subscriber.update()
    same(target, before)


def test_other_shapes(tmp_path):
    publisher = publish(tmp_path, [0, 1])
    wider = {**tensors(2), "new": np.ones(5, np.float32)}
    manifest = publisher.publish(wider)
    assert manifest.delta is None and manifest.anchor is not None
    subscriber = DeltaSubscriber(tmp_path, tensors(1))
    with pytest.raises(ValueError, match="new"):
        subscriber.update()
    # A file is made anew.
    DeltaSubscriber(tmp_path, tmp_path / "file").update(2)
    DeltaSubscriber(tmp_path, tmp_path / "file").update()
    same(load(tmp_path / "file"), wider)


def test_a_publisher_goes_on(tmp_path):
    publish(tmp_path, [0, 1], anchor_every=4)
    publisher = DeltaPublisher(tmp_path, anchor_every=4)
    with pytest.raises(ulpack.ReferenceMismatch):
        publisher.resume(tensors(0))
    publisher.resume(tensors(1))
    assert publisher.publish(tensors(2)).base == 2
    # Without the tensors the next version stands by itself.
    manifest = DeltaPublisher(tmp_path).publish(tensors(3))
    assert (manifest.version, manifest.base) == (4, None)
    target = empty()
    DeltaSubscriber(tmp_path, target).update()
    same(target, tensors(3))


def test_pruning(tmp_path):
    publisher = publish(tmp_path, range(7), anchor_every=2)
    assert publisher.prune(2) == [1, 2, 3, 4]
    target = tensors(0)
    DeltaSubscriber(tmp_path, target).update()
    same(target, tensors(6))
    assert publisher.prune(5) == []


def test_damage(tmp_path):
    publish(tmp_path, [0, 1])
    frames = tmp_path / "v00000002" / "delta-000"
    content = bytearray(frames.read_bytes())
    for at in range(5, len(content), 997):
        content[at] ^= 16
        frames.write_bytes(content)
        target = tensors(0)
        with pytest.raises(ulpack.UlpError):
            DeltaSubscriber(tmp_path, target).update()
        content[at] ^= 16
    frames.write_bytes(content[:-10])
    with pytest.raises(ulpack.UlpError):
        DeltaSubscriber(tmp_path, tensors(0)).update()
    manifest = tmp_path / "v00000002" / "manifest.json"
    for wrong in ("{", "[]", manifest.read_text().replace('"crc": ', '"crc": 1')):
        manifest.write_text(wrong)
        with pytest.raises(ulpack.UlpError):
            DeltaSubscriber(tmp_path, tensors(0)).update()


def load(path):
    """A safetensors file as it is, by way of the package itself."""
    coded = ulpack.compress(path.read_bytes())
    reader = ulpack.Reader(coded)
    return {name: reader.get_tensor(name) for name in reader.keys()}


def test_files(tmp_path):
    run, file = tmp_path / "run", tmp_path / "weights.safetensors"
    publisher = publish(run, [0])
    for step in range(1, 4):
        DeltaSubscriber(run, file).update()
        same(load(file), tensors(step - 1))
        publisher.publish(tensors(step))
    # What says which version it is may be lost.
    os.unlink(f"{file}.ulp-sync")
    done = DeltaSubscriber(run, file).update()
    assert done["version"] == 4 and done["bytes"] < 30_000
    same(load(file), tensors(3))


KILLED = """
import os, sys, threading, time
from ulpack.sync import DeltaSubscriber
run, file, delay = sys.argv[1:]
def kill():
    time.sleep(float(delay))
    os.kill(os.getpid(), 9)
print("ready", flush=True)
threading.Thread(target=kill, daemon=True).start()
DeltaSubscriber(run, file).update()
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("start", ["anchor", "delta"])
def test_killed_at_any_moment(tmp_path, start):
    """A file whose update is killed, again and again, is brought up to date by the next that is not."""
    run, file = tmp_path / "run", tmp_path / "weights"
    rng = np.random.default_rng(2)
    base = {f"w{k}": rng.standard_normal(300_000).astype(np.float32) for k in range(8)}
    publisher = DeltaPublisher(run, anchor_every=100)
    publisher.publish(base)
    if start == "delta":
        DeltaSubscriber(run, file).update()
    for _ in range(3):
        base = {name: w * np.float32(1.0001) for name, w in base.items()}
        publisher.publish(base)
    killed = 0
    for k in range(12):
        done = subprocess.run([sys.executable, "-c", KILLED, run, file, str(0.01 * k)], stdout=subprocess.PIPE)
        killed += done.returncode == -signal.SIGKILL
    assert killed > 0
    DeltaSubscriber(run, file).update()
    same(load(file), base)
    assert sorted(os.listdir(tmp_path)) == ["run", "weights", "weights.ulp-sync"]


def test_a_kill_inside_the_writing_of_a_tensor(tmp_path, monkeypatch):
    """The journal holds what was being written: half a tensor is made whole when the file is opened."""
    from ulpack.sync import _target

    run, file = tmp_path / "run", tmp_path / "weights"
    publisher = publish(run, [0])
    DeltaSubscriber(run, file).update()
    publisher.publish(tensors(3))
    subscriber = DeltaSubscriber(run, file)
    unlink = _target.Path.unlink
    monkeypatch.setattr(_target.Path, "unlink", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        subscriber.update()
    monkeypatch.setattr(_target.Path, "unlink", unlink)
    # As if the kill had come in the middle.
    subscriber._target.buffers["w"][1000:] = 0
    subscriber._target._map.flush()
    DeltaSubscriber(run, file).update()
    same(load(file), tensors(3))


def test_a_copy_of_the_directory(tmp_path):
    """Any storage that shows files: a version that has not arrived whole is not there."""
    publish(tmp_path / "run", range(3))
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    os.unlink(tmp_path / "copy" / "v00000003" / "manifest.json")
    target = empty()
    subscriber = DeltaSubscriber(tmp_path / "copy", target)
    with pytest.raises(FileNotFoundError):
        subscriber.update()
    subscriber.update(2)
    same(target, tensors(1))
