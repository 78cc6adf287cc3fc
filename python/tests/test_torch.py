import pathlib
import re

import pytest

torch = pytest.importorskip("torch")

import torch.distributed.checkpoint  # noqa: E402
import ulpack  # noqa: E402
import ulpack.dcp  # noqa: E402


def model(step):
    generator = torch.Generator().manual_seed(3)
    weight = torch.randn(300, 200, generator=generator) * 0.02
    weight += step * 1e-4 * torch.randn(300, 200, generator=generator)
    return {
        "weight": weight.bfloat16(),
        "bias": weight[0].clone(),
        "norm": weight[1].half(),
        "step": torch.tensor(step),
        "f8": weight.to(torch.float8_e4m3fn),
        "flags": weight[2] > 0,
    }


def same(a, b):
    assert set(a) == set(b)
    for name in a:
        assert a[name].dtype == b[name].dtype and a[name].shape == b[name].shape, name
        assert torch.equal(a[name].reshape(-1).view(torch.uint8), b[name].reshape(-1).view(torch.uint8)), name


def test_tensors_of_every_type():
    for name, tensor in model(0).items():
        coded = ulpack.compress(tensor)
        out = torch.empty_like(tensor)
        ulpack.decode_into(out, coded)
        same({name: out}, {name: tensor})


def test_bf16_against_bf16():
    prev, next = model(0)["weight"], model(1)["weight"]
    coded = ulpack.compress(next, ref=prev)
    assert len(coded) < 0.6 * next.nbytes
    target = prev.clone()
    ulpack.apply_in_place(target, coded)
    assert torch.equal(target, next)
    assert ulpack.compress(next.t().contiguous().t(), ref=prev) == coded


def test_tensors_that_cannot_be_written_to():
    coded = ulpack.compress(model(0)["weight"])
    with pytest.raises(ValueError):
        ulpack.decode_into(model(0)["weight"].t(), coded)


def test_gradients_do_not_matter():
    weight = torch.nn.Parameter(model(0)["bias"])
    assert ulpack.decompress(ulpack.compress(weight)) == weight.detach().numpy().tobytes()


def test_files(tmp_path):
    ulpack.save_file(model(0), tmp_path / "a.ulp")
    same(ulpack.load_file(tmp_path / "a.ulp", framework="pt"), model(0))
    (tmp_path / "prev").write_bytes(ulpack.decompress((tmp_path / "a.ulp").read_bytes()))
    ulpack.save_file(model(1), tmp_path / "b.ulp", ref=tmp_path / "prev")
    same(ulpack.load_file(tmp_path / "b.ulp", ref=tmp_path / "prev", framework="pt"), model(1))
    reader = ulpack.Reader(tmp_path / "b.ulp", ref=tmp_path / "prev", framework="pt")
    assert torch.equal(reader.get_slice("weight")[10:20, ::2], model(1)["weight"][10:20, ::2])


def test_safetensors_agrees(tmp_path):
    safetensors = pytest.importorskip("safetensors.torch")
    ulpack.save_file(model(0), tmp_path / "a.ulp")
    content = ulpack.decompress((tmp_path / "a.ulp").read_bytes())
    same(safetensors.load(content), model(0))
    (tmp_path / "b.ulp").write_bytes(ulpack.compress(safetensors.save(model(2))))
    same(ulpack.load_file(tmp_path / "b.ulp", framework="pt"), model(2))


def block(path, begins):
    """The first block of Python in a document that begins with this line."""
    text = (pathlib.Path(__file__).parents[2] / path).read_text()
    return next(code for code in re.findall(r"```python\n(.*?)```", text, re.S) if code.startswith(begins))


def test_the_readme_works_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(block("README.md", "import torch, ulpack"), names)
    model, tensors = names["model"], names["tensors"]
    assert set(tensors) == set(model.state_dict())
    assert all(torch.equal(tensors[name], tensor) for name, tensor in model.state_dict().items())
    assert (tmp_path / "step2.safetensors.ulp").stat().st_size < (tmp_path / "step1.safetensors.ulp").stat().st_size


def test_the_documents_work_as_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = torch.nn.Linear(64, 64)
    state = {"model": model.state_dict()}
    torch.distributed.checkpoint.save(state, storage_writer=ulpack.dcp.Writer("step1"))
    with torch.no_grad():
        model.weight.add_(1e-4)
    kept = model.weight.clone()
    exec(block("docs/python.md", "import torch.distributed.checkpoint"), {"state": state})
    assert torch.equal(model.weight, kept)

    weights = {name: torch.zeros_like(tensor) for name, tensor in model.state_dict().items()}
    code = block("docs/python.md", "from ulpack.sync").replace("/shared/run7", str(tmp_path / "run7"))
    exec(code, {"model": model, "weights": weights})
    assert all(torch.equal(weights[name], tensor) for name, tensor in model.state_dict().items())
