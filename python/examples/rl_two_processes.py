"""A trainer and a rollout worker, two processes, with a directory between them.

The trainer takes steps of reinforcement-learning size (lr 3e-6) on a small torch model in bf16 and publishes each version; the rollout applies it in place and
computes logits, which must be equal bit for bit.

    python rl_two_processes.py [STEPS]
"""

import multiprocessing
import sys
import tempfile
import time
from pathlib import Path

import torch
from ulpack.sync import DeltaPublisher, DeltaSubscriber

VOCABULARY, WIDTH, LAYERS = 512, 128, 2


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(VOCABULARY, WIDTH)
        layer = dict(d_model=WIDTH, nhead=4, dim_feedforward=4 * WIDTH, dropout=0.0, batch_first=True)
        self.layers = torch.nn.ModuleList(torch.nn.TransformerEncoderLayer(**layer) for _ in range(LAYERS))
        self.head = torch.nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def prompt() -> torch.Tensor:
    return torch.randint(0, VOCABULARY, (4, 16), generator=torch.Generator().manual_seed(7))


def trainer(run: Path, steps: int, logits: multiprocessing.Queue) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    master = Model()
    optimizer = torch.optim.AdamW(master.parameters(), lr=3e-6)
    published = Model().bfloat16()
    publisher = DeltaPublisher(run, anchor_every=20)
    for step in range(steps):
        tokens = torch.randint(0, VOCABULARY, (8, 16))
        loss = torch.nn.functional.cross_entropy(master(tokens).flatten(0, 1), tokens.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for mine, theirs in zip(published.parameters(), master.parameters()):
                mine.copy_(theirs)
            expected = published(prompt())
        start = time.perf_counter()
        manifest = publisher.publish(published.state_dict())
        seconds = time.perf_counter() - start
        kind = "delta" if manifest.delta is not None else "anchor"
        logits.put((manifest.version, kind, manifest.bytes_of(kind), seconds, expected.view(torch.int16).numpy().tobytes()))
    logits.put(None)


def rollout(run: Path, logits: multiprocessing.Queue) -> None:
    torch.set_num_threads(1)
    model = Model().bfloat16()
    weights = dict(model.state_dict())
    size = sum(weight.nbytes for weight in weights.values())
    subscriber = DeltaSubscriber(run, weights)
    while (told := logits.get()) is not None:
        version, kind, length, seconds, expected = told
        start = time.perf_counter()
        subscriber.update(version)
        applied = time.perf_counter() - start
        with torch.no_grad():
            found = model(prompt()).view(torch.int16).numpy().tobytes()
        if found != expected:
            raise SystemExit(f"version {version}: the logits differ")
        print(
            f"version {version}: {kind} of {length:,} bytes ({length / size:.4f} of {size:,}), "
            f"published in {1000 * seconds:.0f} ms, applied in {1000 * applied:.0f} ms, logits equal",
            flush=True,
        )


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as directory:
        logits = context.Queue()
        processes = [
            context.Process(target=trainer, args=(Path(directory), steps, logits)),
            context.Process(target=rollout, args=(Path(directory), logits)),
        ]
        for process in processes:
            process.start()
        for process in reversed(processes):
            process.join()
            if process.exitcode != 0:
                for other in processes:
                    other.terminate()
                raise SystemExit("a process failed")


if __name__ == "__main__":
    main()
