"""Versions over a socket: the receiving side keeps a copy of the publisher's directory, and a subscriber reads the copy.

The two sides here are threads on the loopback interface; on two machines only the address is another.

    python sync_over_socket.py
"""

import os
import socket
import tempfile
import threading
from pathlib import Path

import numpy as np
from ulpack.sync import DeltaPublisher, DeltaSubscriber


def send(connection: socket.socket, root: Path, version: int) -> None:
    """The files of a version: frames, then the manifest, then the name of the newest."""
    folder = root / f"v{version:08d}"
    files = sorted(path for path in folder.iterdir() if path.name != "manifest.json")
    with connection.makefile("wb") as out:
        for path in [*files, folder / "manifest.json", root / "LATEST"]:
            name = str(path.relative_to(root)).encode()
            out.write(len(name).to_bytes(2, "little") + name + path.stat().st_size.to_bytes(8, "little"))
            out.write(path.read_bytes())


def receive(connection: socket.socket, root: Path, arrived: threading.Semaphore) -> None:
    """Stores files as they come, each appearing whole."""
    with connection.makefile("rb") as source:
        while prefix := source.read(2):
            name = source.read(int.from_bytes(prefix, "little")).decode()
            content = source.read(int.from_bytes(source.read(8), "little"))
            path = (root / name).resolve()
            if not path.is_relative_to(root.resolve()):
                raise ValueError(f"{name}: outside the directory")
            path.parent.mkdir(exist_ok=True)
            temporary = path.with_name(f"{path.name}.part")
            temporary.write_bytes(content)
            os.replace(temporary, path)
            if name == "LATEST":
                arrived.release()


def main() -> None:
    rng = np.random.default_rng(0)
    weights = {f"layer{k}": rng.standard_normal((512, 512)).astype(np.float32) for k in range(4)}
    copy = {name: np.zeros_like(weight) for name, weight in weights.items()}
    with tempfile.TemporaryDirectory() as directory:
        here, there = Path(directory, "here"), Path(directory, "there")
        there.mkdir()
        with socket.create_server(("127.0.0.1", 0)) as server:
            sender = socket.create_connection(server.getsockname())
            receiver, _ = server.accept()
        arrived = threading.Semaphore(0)
        thread = threading.Thread(target=receive, args=(receiver, there, arrived))
        thread.start()
        publisher = DeltaPublisher(here)
        for _ in range(5):
            for weight in weights.values():
                weight[rng.random(weight.shape) < 0.02] *= np.float32(1.0005)
            version = publisher.publish(weights).version
            send(sender, here, version)
            arrived.acquire()
            if version == 1:
                subscriber = DeltaSubscriber(there, copy)
            done = subscriber.update()
            assert all(np.array_equal(copy[name], weights[name]) for name in weights)
            print(f"version {version}: {done['bytes']:,} bytes for {sum(w.nbytes for w in copy.values()):,}, equal")
        sender.close()
        thread.join()
        receiver.close()


if __name__ == "__main__":
    main()
