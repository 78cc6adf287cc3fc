"""A sharded model and its optimizer through torch.distributed.checkpoint, for torchrun: see torch.sh.

    torchrun --nproc-per-node 2 dcp_ranks.py save DIR      # several checkpoints by each writer, and what is in them by torch.save
    torchrun --nproc-per-node N dcp_ranks.py load DIR      # on any number of ranks
"""

import os
import shutil
import sys
import time
import warnings

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint._extension import ZStandard
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard, distribute_tensor
from ulpack.dcp import Reader, UlpExtension, Writer, registry

WIDTH = int(os.environ.get("WIDTH", "512"))
STEPS = 3


class Model(torch.nn.Module):
    def __init__(self, seed, mesh):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        for name, shape in [("first", (4 * WIDTH, WIDTH)), ("second", (WIDTH, 4 * WIDTH)), ("bias", (WIDTH,))]:
            weight = torch.randn(shape, generator=generator) * 0.02
            self.register_parameter(name, torch.nn.Parameter(distribute_tensor(weight, mesh, [Shard(0)])))
        self.narrow = torch.nn.Parameter(distribute_tensor(torch.randn((WIDTH, WIDTH), generator=generator).bfloat16(), mesh, [Shard(0)]))


def train(model, optimizer, mesh, step):
    """One step with made-up gradients: the same on any number of ranks."""
    generator = torch.Generator().manual_seed(1000 + step)
    for weight in model.parameters():
        gradient = torch.randn(weight.shape, generator=generator).to(weight.dtype)
        weight.grad = distribute_tensor(gradient, mesh, [Shard(0)])
    optimizer.step()


def state_of(seed, mesh, steps):
    model = Model(seed, mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=False)
    for step in range(steps):
        train(model, optimizer, mesh, step)
    return model, optimizer


def state_dict(model, optimizer):
    weights, moments = get_state_dict(model, optimizer)
    return {"model": weights, "optimizer": moments, "note": {"text": "what else there is"}}


def flat(state, prefix=""):
    for key, value in state.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        elif isinstance(value, DTensor):
            yield prefix + key, value.full_tensor()
        elif isinstance(value, torch.Tensor):
            yield prefix + key, value


def same(a, b):
    a, b = dict(flat(a)), dict(b)
    assert a.keys() == b.keys(), a.keys() ^ b.keys()
    for name in a:
        x, y = a[name].detach().contiguous(), b[name].contiguous()
        assert x.dtype == y.dtype and x.shape == y.shape, name
        assert torch.equal(x.reshape(-1).view(torch.uint8), y.reshape(-1).view(torch.uint8)), name


def say(*words):
    if dist.get_rank() == 0:
        print(*words, flush=True)


def bytes_of(directory):
    return sum(entry.stat().st_size for entry in os.scandir(directory))


def main():
    command, directory = sys.argv[1:]
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    warnings.simplefilter("ignore")
    if command == "save":
        save(directory, mesh)
    else:
        load(directory, mesh)
    dist.destroy_process_group()


def save(directory, mesh):
    model, optimizer = state_of(1, mesh, 2)
    writers = {
        "plain": lambda path, before: dcp.FileSystemWriter(path),
        "extension": lambda path, before: dcp.FileSystemWriter(path, _extensions=[UlpExtension()]),
        "alone": lambda path, before: Writer(path),
        "reference": lambda path, before: Writer(path, ref_dir=before),
    }
    if ZStandard.is_available():
        writers["zstd"] = lambda path, before: dcp.FileSystemWriter(path, _extensions=[ZStandard()])
    before = {name: None for name in writers}
    for number in range(STEPS):
        train(model, optimizer, mesh, 2 + number)
        state = state_dict(model, optimizer)
        whole = dict(flat(state))
        if dist.get_rank() == 0:
            torch.save(whole, f"{directory}/expected-{number}")
        for name, writer in writers.items():
            path = f"{directory}/{name}-{number}"
            dist.barrier()
            start = time.perf_counter()
            dcp.save(state, storage_writer=writer(path, before[name]))
            seconds = time.perf_counter() - start
            start = time.perf_counter()
            fresh = state_dict(*state_of(9, mesh, 1))
            built = time.perf_counter() - start
            start = time.perf_counter()
            dcp.load(fresh, storage_reader=Reader(path))
            back = time.perf_counter() - start
            same(fresh, whole.items())
            say(f"step {number} {name:<10} {bytes_of(path):>12,} bytes, saved in {seconds:.2f} s, loaded in {back:.2f} s")
            before[name] = path
            del built


def load(directory, mesh):
    for number in range(STEPS):
        expected = torch.load(f"{directory}/expected-{number}")
        for name in ("extension", "alone", "reference"):
            state = state_dict(*state_of(9, mesh, 1))
            dcp.load(state, storage_reader=Reader(f"{directory}/{name}-{number}"))
            same(state, expected.items())
    state = state_dict(*state_of(9, mesh, 1))
    dcp.load(state, storage_reader=dcp.FileSystemReader(f"{directory}/extension-0", _extension_registry=registry()))
    same(state, torch.load(f"{directory}/expected-0").items())
    say(f"all checkpoints are the same on {dist.get_world_size()} ranks")

    # A reference that is missing, another one, or elsewhere.
    dist.barrier()
    if dist.get_rank() == 0:
        os.makedirs(f"{directory}/moved", exist_ok=True)
        shutil.copytree(f"{directory}/reference-1", f"{directory}/moved/next", dirs_exist_ok=True)
    dist.barrier()
    for ref_dir, words in [(None, "no checkpoint there"), (f"{directory}/alone-1", "not the checkpoint that was referred to")]:
        state = state_dict(*state_of(9, mesh, 1))
        untouched = [(name, tensor.clone()) for name, tensor in flat(state)]
        try:
            dcp.load(state, storage_reader=Reader(f"{directory}/moved/next", ref_dir=ref_dir))
        except CheckpointException as error:
            assert words in str(error), error
        else:
            raise AssertionError("a wrong reference was taken")
        same(state, untouched)
    state = state_dict(*state_of(9, mesh, 1))
    dcp.load(state, storage_reader=Reader(f"{directory}/moved/next", ref_dir=f"{directory}/reference-0"))
    same(state, torch.load(f"{directory}/expected-1").items())
    say("missing and wrong references are refused before anything is loaded")


if __name__ == "__main__":
    main()
