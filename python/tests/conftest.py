import numpy as np
import pytest


@pytest.fixture
def weights():
    """A function: float32 weights after so many steps, as training moves them."""
    rng = np.random.default_rng(1)
    base = rng.standard_normal(200_000).astype(np.float32) * 0.02
    moves = [rng.standard_normal(base.size).astype(np.float32) * 1e-5 for _ in range(4)]

    def after(steps: int) -> np.ndarray:
        return (base + sum(moves[:steps], np.zeros_like(base))).reshape(400, 500)

    return after


@pytest.fixture
def model(weights):
    """A function: a small model after so many steps."""

    def after(steps: int) -> dict[str, np.ndarray]:
        w = weights(steps)
        return {
            "layer.0.weight": w,
            "layer.0.bias": w[0].copy(),
            "half": w[:100].astype(np.float16),
            "step": np.array(steps, np.int64),
            "mask": w[:3] > 0,
            "empty": np.zeros((0, 7), np.float32),
        }

    return after
