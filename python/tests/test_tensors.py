import json
import os
import shutil
import subprocess

import numpy as np
import pytest
import ulpack


def same(a, b):
    assert set(a) == set(b)
    for name in a:
        assert a[name].dtype == b[name].dtype and a[name].shape == b[name].shape, name
        assert np.asarray(a[name]).tobytes() == np.asarray(b[name]).tobytes(), name


def plain(path, tensors):
    """Saves tensors uncompressed: what is inside the stream."""
    ulpack.save_file(tensors, f"{path}.ulp")
    content = ulpack.decompress(open(f"{path}.ulp", "rb").read())
    with open(path, "wb") as file:
        file.write(content)
    return content


def test_there_and_back(model, tmp_path):
    ulpack.save_file(model(0), tmp_path / "a.ulp", metadata={"format": "np", "ü": "é"})
    same(ulpack.load_file(tmp_path / "a.ulp"), model(0))
    plain(tmp_path / "prev", model(0))
    ulpack.save_file(model(1), tmp_path / "b.ulp", ref=tmp_path / "prev")
    same(ulpack.load_file(tmp_path / "b.ulp", ref=tmp_path / "prev"), model(1))
    alone = os.path.getsize(tmp_path / "a.ulp")
    assert os.path.getsize(tmp_path / "b.ulp") < 0.8 * alone
    with pytest.raises(ulpack.ReferenceMismatch):
        ulpack.load_file(tmp_path / "b.ulp")
    plain(tmp_path / "other", model(2))
    with pytest.raises(ulpack.ReferenceMismatch):
        ulpack.load_file(tmp_path / "b.ulp", ref=tmp_path / "other")


def test_the_content_is_a_safetensors_file(model, tmp_path):
    content = plain(tmp_path / "a", model(0))
    length = int.from_bytes(content[:8], "little")
    assert length % 8 == 0
    header = json.loads(content[8 : 8 + length])
    assert header["half"]["dtype"] == "F16" and header["half"]["shape"] == [100, 500]
    numpy = pytest.importorskip("safetensors.numpy")
    same(numpy.load(content), model(0))
    # The same order of names and bytes, and so the same file.
    assert numpy.save(model(0)) == content


def test_any_safetensors_file_is_read(model, tmp_path):
    numpy = pytest.importorskip("safetensors.numpy")
    (tmp_path / "a.ulp").write_bytes(ulpack.compress(numpy.save(model(3), metadata={"a": "b"})))
    same(ulpack.load_file(tmp_path / "a.ulp"), model(3))
    assert ulpack.Reader(tmp_path / "a.ulp").metadata() == {"a": "b"}


def test_the_command_reads_it(model, tmp_path):
    ulp = os.environ.get("ULP") or shutil.which("ulp")
    if not ulp:
        pytest.skip("the command ulp is not at hand")
    content = plain(tmp_path / "a", model(0))
    done = subprocess.run([ulp, "-dc", tmp_path / "a.ulp"], capture_output=True, check=True)
    assert done.stdout == content


def test_reader(model, tmp_path):
    tensors = model(1)
    plain(tmp_path / "prev", model(0))
    ulpack.save_file(tensors, tmp_path / "a.ulp", ref=tmp_path / "prev", metadata={"step": "1"})
    with ulpack.Reader(tmp_path / "a.ulp", ref=tmp_path / "prev") as reader:
        assert set(reader.keys()) == set(tensors) and len(reader) == len(tensors)
        assert reader.metadata() == {"step": "1"}
        same({name: reader.get_tensor(name) for name in reader.keys()}, tensors)
        with pytest.raises(KeyError):
            reader.get_tensor("none")
        with pytest.raises(KeyError):
            reader.get_slice("none")
    # From bytes, against a Reader.
    before = ulpack.Reader((tmp_path / "prev.ulp").read_bytes())
    ulpack.save_file(model(1), tmp_path / "c.ulp", ref=before)
    reader = ulpack.Reader(tmp_path / "c.ulp", ref=before)
    assert np.array_equal(reader.get_tensor("half"), model(1)["half"])


@pytest.mark.parametrize(
    "index",
    [
        np.s_[:],
        np.s_[3],
        np.s_[-1],
        np.s_[2:9],
        np.s_[2:9:3],
        np.s_[5:2],
        np.s_[-4:],
        np.s_[...],
        np.s_[..., 4],
        np.s_[1:5, 3],
        np.s_[7, ::2],
        np.s_[:, -5:],
        np.s_[10_000:],
    ],
)
def test_slices(model, tmp_path, index):
    tensors = model(0)
    ulpack.save_file(tensors, tmp_path / "a.ulp")
    reader = ulpack.Reader(tmp_path / "a.ulp")
    part = reader.get_slice("layer.0.weight")
    assert part.get_shape() == [400, 500] and part.get_dtype() == "F32"
    expected = tensors["layer.0.weight"][index]
    assert np.array_equal(part[index], expected) and part[index].shape == expected.shape


def test_slices_of_small_things(model, tmp_path):
    ulpack.save_file(model(5), tmp_path / "a.ulp")
    reader = ulpack.Reader(tmp_path / "a.ulp")
    assert reader.get_slice("step")[...] == 5 and reader.get_slice("step")[()] == 5
    assert reader.get_slice("empty")[:].shape == (0, 7)
    with pytest.raises(IndexError):
        reader.get_slice("layer.0.weight")[400]
    with pytest.raises(ValueError):
        reader.get_slice("layer.0.weight")[::-1]


def test_what_is_no_safetensors_file(tmp_path):
    headers = [b"[]", b'{"a":1}', b'{"a":{}}', b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,3]}}']
    files = [len(header).to_bytes(8, "little") + header + b"abcd" for header in headers]
    for content in (b"", b"short", b"x" * 100, (50).to_bytes(8, "little") + b"{}", *files):
        (tmp_path / "a.ulp").write_bytes(ulpack.compress(content))
        with pytest.raises(ulpack.UlpError):
            ulpack.load_file(tmp_path / "a.ulp")
        with pytest.raises(ulpack.UlpError):
            ulpack.Reader(tmp_path / "a.ulp")


def test_types_that_safetensors_lacks(tmp_path):
    with pytest.raises(TypeError):
        ulpack.save_file({"a": np.array(["text"])}, tmp_path / "a.ulp")
    with pytest.raises(ValueError):
        ulpack.save_file({"a": np.zeros(1)}, tmp_path / "a.ulp")
        ulpack.load_file(tmp_path / "a.ulp", framework="jax")
    assert [p.name for p in tmp_path.iterdir()] == ["a.ulp"]
