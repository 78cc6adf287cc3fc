import doctest
import pickle
import threading
import zlib

import numpy as np
import pytest
import ulpack


def test_arrays_and_bytes_come_back(weights):
    prev, next = weights(0), weights(1)
    delta = ulpack.compress(next, ref=prev)
    assert len(delta) < 0.7 * next.nbytes
    assert ulpack.decompress(delta, ref=prev) == next.tobytes()
    for form in (bytes, bytearray, memoryview):
        assert ulpack.decompress(form(delta), ref=form(prev.tobytes())) == next.tobytes()


def test_what_goes_in_is_not_changed_and_the_result_is_always_the_same(weights):
    prev, next = weights(0), weights(1)
    kept = prev.copy(), next.copy()
    results = {ulpack.compress(next, ref=prev, threads=threads) for threads in (1, 2, 3)}
    assert len(results) == 1
    assert np.array_equal(prev, kept[0]) and np.array_equal(next, kept[1])


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8", "?", ">f4", "S3"])
@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 5), (2, 3, 4)])
def test_all_types_and_shapes(dtype, shape):
    array = (np.arange(int(np.prod(shape, dtype=int))) % 100).reshape(shape).astype(dtype)
    native = array.astype(array.dtype.newbyteorder("="))
    assert ulpack.decompress(ulpack.compress(array)) == native.tobytes()


def test_arrays_that_are_not_contiguous(weights):
    array = weights(0)[::2, ::-3]
    assert ulpack.decompress(ulpack.compress(array)) == array.tobytes()


def test_levels_and_types_are_checked(weights):
    sizes = [len(ulpack.compress(weights(0), level=level)) for level in (1, 5, 9)]
    assert sizes[2] <= sizes[0]
    for wrong in ({"level": 0}, {"level": 10}, {"dtype": "f12"}):
        with pytest.raises(ValueError):
            ulpack.compress(b"x", **wrong)


def test_metadata_and_description(weights):
    prev = weights(0)
    coded = ulpack.compress(weights(1), ref=prev, metadata={"step": "7", "raw": b"\xff"})
    (told,) = ulpack.describe(coded)
    assert dict(told["metadata"]) == {"step": b"7", "raw": b"\xff"}
    assert told["content_bytes"] == prev.nbytes
    assert told["coded_bytes"] == len(coded)
    assert told["references"][0][0] == prev.nbytes


def test_several_references_and_streams(weights):
    a, b, next = weights(0), weights(1), weights(2)
    coded = ulpack.compress(next, ref=[a, b])
    assert ulpack.decompress(coded, ref=[a, b]) == next.tobytes()
    with pytest.raises(ulpack.ReferenceMismatch):
        ulpack.decompress(coded, ref=[b, weights(3)])
    two = ulpack.compress(a) + ulpack.compress(b)
    assert ulpack.decompress(two) == a.tobytes() + b.tobytes()


def test_into_a_buffer(weights):
    prev, next = weights(0), weights(1)
    coded = ulpack.compress(next, ref=prev)
    out = np.empty_like(next)
    ulpack.decode_into(out, coded, ref=prev)
    assert np.array_equal(out, next)
    for wrong in (np.empty(3, np.float32), np.empty(next.size + 1, np.float32), bytes(next.nbytes), out[:, ::2]):
        with pytest.raises(ValueError):
            ulpack.decode_into(wrong, coded, ref=prev)


def test_what_is_written_shares_nothing_with_what_is_read(weights):
    prev, next = weights(0), weights(1)
    coded = np.frombuffer(bytearray(ulpack.compress(next, ref=prev)), np.uint8)
    kept = prev.copy(), coded.copy()
    for out, data, ref in ((prev, coded, prev), (prev, coded, [kept[0], prev[:1]]), (coded, coded, prev)):
        with pytest.raises(ValueError, match="shares memory"):
            ulpack.decode_into(out, data, ref=ref)
    with pytest.raises(ValueError, match="shares memory"):
        ulpack.apply_in_place(coded, coded)
    assert np.array_equal(prev, kept[0]) and np.array_equal(coded, kept[1])


def test_nothing_wrong_is_left_in_a_buffer(weights):
    prev, next = np.concatenate([weights(0)] * 8), np.concatenate([weights(1)] * 8)
    whole = np.frombuffer(next, np.uint8)
    coded = bytearray(ulpack.compress(next, ref=prev))
    (told,) = ulpack.describe(coded)
    assert told["chunks"] > 1
    coded[len(coded) * 2 // 3] ^= 1
    out = np.full(next.nbytes, 7, np.uint8)
    with pytest.raises(ulpack.UlpError):
        ulpack.decode_into(out, coded, ref=prev, threads=1)
    good = int(np.argmin(out == whole))
    assert good > 0 and not out[good:].any()


def test_a_length_that_is_not_true_is_damage(weights):
    """The length of the result is set aside as the stream's last record tells it; what is decoded decides."""
    for content in (weights(0), np.zeros(20 << 20, np.uint8)):
        coded = ulpack.compress(content)
        assert ulpack.decompress(coded + coded) == content.tobytes() * 2
        at = len(coded) - 44
        for told in (0, 1, content.nbytes - 1, content.nbytes + 1, 20 * content.nbytes, 1 << 50, (1 << 64) - 1):
            end = coded[at : at + 8] + told.to_bytes(8, "little") + coded[at + 16 : at + 36]
            wrong = coded[:at] + end + zlib.crc32(end).to_bytes(4, "little") + coded[-4:]
            with pytest.raises(ulpack.UlpError, match="content_length"):
                ulpack.decompress(wrong)


def test_in_place(weights, tmp_path):
    prev, next = weights(0), weights(1)
    next[:200] = prev[:200]
    delta = ulpack.compress(next, ref=prev)
    buffer = prev.copy()
    done = ulpack.apply_in_place(buffer, delta)
    assert np.array_equal(buffer, next) and done["written"] >= 1
    assert ulpack.apply_in_place(buffer, delta)["written"] == 0
    with pytest.raises(ulpack.ReferenceMismatch):
        ulpack.apply_in_place(weights(2), delta)

    target, stream = tmp_path / "weights", tmp_path / "delta"
    target.write_bytes(prev.tobytes())
    stream.write_bytes(delta)
    ulpack.apply_in_place(target, stream)
    assert target.read_bytes() == next.tobytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["delta", "weights"]


class TestErrors:
    def test_classes(self, weights):
        prev, next = weights(0), weights(1)
        coded = ulpack.compress(next, ref=prev)
        with pytest.raises(ulpack.ReferenceMismatch):
            ulpack.decompress(coded)
        with pytest.raises(ulpack.ReferenceMismatch):
            ulpack.decompress(coded, ref=weights(2))
        with pytest.raises(ulpack.Truncated):
            ulpack.decompress(coded[:-1], ref=prev)
        with pytest.raises(ulpack.Truncated):
            ulpack.decompress(b"")
        with pytest.raises(ulpack.UlpError):
            ulpack.decompress(b"This is no stream, and long enough for a header.")
        later = bytearray(coded)
        later[6] = 200
        with pytest.raises(ulpack.Unsupported):
            ulpack.decompress(later, ref=prev)
        with pytest.raises(ulpack.Unsupported):
            ulpack.decompress(coded, ref=prev, memory=1)
        for error in (ulpack.ReferenceMismatch, ulpack.Truncated, ulpack.Unsupported):
            assert issubclass(error, ulpack.UlpError)
        with pytest.raises(FileNotFoundError):
            ulpack.compress(b"", ref="/no/such/file")
        with pytest.raises(TypeError):
            ulpack.compress(7)

    def test_damage_is_always_found(self, weights):
        prev, next = weights(0)[:20], weights(1)[:20]
        coded = bytearray(ulpack.compress(next, ref=prev))
        for at in range(0, len(coded), 37):
            coded[at] ^= 4
            # A damaged record that no decoder needs is still damage.
            with pytest.raises(ulpack.UlpError):
                ulpack.decompress(coded, ref=prev)
            coded[at] ^= 4

    def test_pickle(self):
        error = pickle.loads(pickle.dumps(ulpack.Truncated("short")))
        assert isinstance(error, ulpack.Truncated) and str(error) == "short"


def test_the_lock_is_released(weights):
    """Other threads go on while data is coded."""
    big = np.concatenate([weights(0)] * 40)
    counted = 0
    done = threading.Event()

    def count():
        nonlocal counted
        while not done.is_set():
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = counted
    coded = ulpack.compress(big, threads=1)
    during = counted - before
    done.set()
    thread.join()
    assert during > 1000
    assert ulpack.decompress(coded) == big.tobytes()


def test_examples_of_docstrings():
    failed, tried = doctest.testmod(ulpack)
    assert tried > 0 and failed == 0
