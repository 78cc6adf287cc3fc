# SPDX-License-Identifier: MIT-0
"""Seeded contents: patterns that look like weights, and what a training step makes of them."""


class Random:
    """xorshift64*: the same numbers everywhere."""

    def __init__(self, seed):
        self.state = seed * 0x9E3779B97F4A7C15 + 1 & (1 << 64) - 1

    def bits(self, n):
        x = self.state
        x ^= x >> 12
        x ^= x << 25 & (1 << 64) - 1
        x ^= x >> 27
        self.state = x
        return (x * 0x2545F4914F6CDD1D & (1 << 64) - 1) >> 64 - n

    def below(self, n):
        return self.bits(32) * n >> 32

    def geometric(self):
        n = 0
        while self.bits(1):
            n += 1
        return n


def noise(n, seed=1):
    random = Random(seed)
    return bytes(random.bits(8) for _ in range(n))


def weights(element, n, seed=1):
    """n float patterns around 2^-5, or integers that are mostly small."""
    random = Random(seed)
    if not element.is_float:
        return [random.bits(1 + random.below(element.w)) for _ in range(n)]
    highest = min(element.bias - 5, (1 << element.e) - 2)
    out = []
    for _ in range(n):
        exponent = max(highest - random.geometric(), 0) if element.w > 8 else max(highest + 5 - random.geometric(), 0)
        out.append(random.bits(1) << element.w - 1 | exponent << element.m | random.bits(element.m))
    return out


def step(element, patterns, seed=2, changed=8, size=6):
    """Moves `changed` of 8 patterns by up to 2^size ulps or units, within the ring."""
    random = Random(seed)
    out = []
    for u in patterns:
        move = random.bits(1 + random.below(size)) if random.below(8) < changed else 0
        out.append((u + (move if random.bits(1) else -move)) % (1 << element.w))
    return out


def specials(element):
    """Patterns at the edges of a float type: zeros, subnormals, largest, infinities, NaNs of all payload corners."""
    m, ones = element.m, (1 << element.e) - 1
    magnitudes = [0, 1, 2, (1 << m) - 1, 1 << m, (1 << m) + 1, element.bias << m, (element.bias << m) + 1,
                  (ones << m) - 1, ones << m, (ones << m) + 1, (ones << m) + (1 << m - 1), (ones << m) + (1 << m) - 1,
                  (ones - 1 << m), (ones - 1 << m) + (1 << m - 1)]
    return [u | sign << element.w - 1 for u in magnitudes for sign in (0, 1)]
