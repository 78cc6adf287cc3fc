# SPDX-License-Identifier: MIT-0
"""From elements to symbols (§8, §10): the data of one substream."""
from .bits import zigzag
from .entropy import Step, encode, pack

RAW, CONSTANT, SAME, RESIDUAL, MASK, PLAIN = range(6)
PROFILES = 1


def clamp16(v):
    return max(-32768, min(32767, v))


def signed(u, w):
    return u - (1 << w) if u >> w - 1 else u


def order(u, w, is_float):
    """§10.3 ord."""
    if not is_float:
        return u
    return u | 1 << w - 1 if u < 1 << w - 1 else ~u & (1 << w) - 1


def token_of_z(kind, z):
    """§10.3: (token, raw bits, their number)."""
    if kind == 0 or z < 16:
        return z, 0, 0
    r = 2 if kind == 1 else 1
    n = z.bit_length() - 1
    refinement = (z >> n - r) % (1 << r)
    return 16 + 2 * ((n - 4 << r) + refinement) + z % 2, z % (1 << n - r) >> 1, n - r - 1


class Substream:
    """The header fields and the data of one substream, all of which may be changed afterwards."""

    def __init__(self, method, data=b"", *, bank=0, block=0, shift=0, lanes=0, flags=0, scale_base=0):
        self.method, self.data, self.bank, self.block, self.shift = method, data, bank, block, shift
        self.lanes, self.flags, self.scale_base, self.length = lanes, flags, scale_base, None


class Coded:
    """A substream of method RESIDUAL, MASK or PLAIN: what its symbols are, and under which table."""

    def __init__(self, method, element, content, reference=None, *, slot=0, block=0, shift=0, lanes=5, scale_base=0,
                 scales=None, scale_symbols=None, profile=None, esc=(), dense=(), zeros_relative=False, tokens=None,
                 masks=None, early=(), final=None):
        """`scales`: one per block, None for ZERO; or their symbols, from which they follow. `profile`: one value per
        element. `esc`: indices of elements that take an ESC token without need. `dense`: indices of elements whose mask
        bit is set although they are equal. `zeros_relative`: zeros take an ordinary token where one stands for them.
        `tokens`, `masks`: {index: symbol (token: with raw bits and their number)} in place of the right ones.
        `early`, `final`: of the entropy coder."""
        self.method, self.element, self.slot, self.block, self.shift = method, element, slot, block, shift
        self.lanes, self.scale_base, self.esc, self.dense = lanes, scale_base, set(esc), set(dense)
        self.zeros_relative = zeros_relative
        self.content = [u >> shift for u in content]
        self.reference = None if reference is None else [u >> shift for u in reference]
        self.n, self.w, self.m = len(content), element.w - shift, element.m - shift
        self.profile, self.tokens, self.masks = profile, tokens or {}, masks or {}
        self.early, self.final = early, final or {}
        if block:
            self.set_scales(scales, scale_symbols)

    def lam(self, i):
        """λ of element i, None in ZERO blocks."""
        scale = self.scales[i >> self.block] if self.block else self.scale_base
        if scale is None:
            return None
        lam = scale + (self.profile[i] if self.profile else 0)
        if self.method != PLAIN and self.element.is_float:
            exponent = self.element.exponent(self.reference[i], self.shift)
            lam -= 4 * (max(exponent, 1) - self.element.bias - self.m)
        return clamp16(lam)

    def set_scales(self, scales, symbols=None):
        self.symbols, self.scales, previous = symbols or self.scale_symbols(scales), [], self.scale_base
        assert len(self.symbols) == (self.n - 1 >> self.block) + 1
        for symbol in self.symbols:
            if symbol:
                step = (symbol - 1) // 2 if symbol % 2 else -symbol // 2
                previous = clamp16(previous + step)
            self.scales.append(previous if symbol else None)

    def scale_symbols(self, scales):
        previous, symbols = self.scale_base, []
        for scale in scales:
            if scale is None:
                symbols.append(0)
            else:
                symbols.append(1 + zigzag(scale - previous))
                previous = scale
        return symbols

    def residual(self, i):
        is_float, w = self.element.is_float, self.w
        reference = self.reference[i]
        d = order(self.content[i], w, is_float) - order(reference, w, is_float)
        if is_float and reference >> w - 1:
            d = -d
        return zigzag(signed(d % (1 << w), w))

    def token(self, bank, i):
        """(token, raw bits, their number) of element i."""
        u, w = self.content[i], self.w
        if i in self.tokens:
            return self.tokens[i]
        if bank.kind == 0 and self.method == PLAIN:
            return u, 0, 0
        if bank.kind == 4:
            return self.pair_token(bank, i)
        if bank.kind < 3:
            z = self.residual(i) if self.method != PLAIN else zigzag(signed(u, w)) if self.element.signed else u
            token = token_of_z(bank.kind, z)
            table = bank.elements[bank.which("elements", self.lam(i))]
            needed = getattr(bank, "fixed", False) and not table[token[0]] and table[240 + z % 2]
            return (240 + z % 2, z >> 1, w - 1) if needed or i in self.esc else token
        if u == 0 and not self.zeros_relative and i not in self.esc:
            return 0, 0, 0
        r = self.element.exponent(u, self.shift) - self.element.bias - (self.lam(i) >> 2) + bank.centre
        if not 0 <= r < bank.window or i in self.esc:
            return 1, u, w
        sign, mantissa = u >> w - 1, u & (1 << self.m) - 1
        low = self.m - bank.top
        token, raw, n = r, mantissa & (1 << low) - 1, low
        if bank.top:
            token = 2 * token + (mantissa >> low)
        if bank.sign:
            token = 2 * token + sign
        else:
            raw, n = raw | sign << n, n + 1
        return 2 + token, raw, n

    def pair_token(self, bank, i):
        """The same of elements i and i + 1; the last one alone goes with itself."""
        pair = self.content[i], self.content[min(i + 1, self.n - 1)]
        base = bank.centre - self.element.bias - (self.lam(i) >> 2)
        first, second = (self.element.exponent(u, self.shift) + base for u in pair)
        if i in self.esc or not (0 <= first < bank.window and 0 <= second < bank.window):
            return 0, pair[0] | pair[1] << self.w, 2 * self.w
        low, high = (u >> self.w - 1 << self.m | u & (1 << self.m) - 1 for u in pair)
        return 1 + first * bank.window + second, low | high << self.m + 1, 2 * (self.m + 1)

    def phases(self, bank):
        """Phases of (group, index of the table, symbol, raw bits, their number), None for steps not taken."""
        phases = []
        if self.block:
            phases.append([("scales", 0, s, 0, 0) for s in self.symbols])
        lams = [self.lam(i) for i in range(self.n)]
        taken = range(0, self.n, 2 if bank.kind == 4 else 1)
        if self.method == MASK:
            groups = []
            for g in range(0, self.n, 8):
                members = range(g, min(g + 8, self.n))
                if lams[g] is None:
                    groups.append(None)
                    continue
                symbol = sum(1 << i - g for i in members
                             if self.content[i] != self.reference[i] or i in self.dense)
                groups.append(("masks", bank.which("masks", max(lams[i] for i in members)),
                               self.masks.get(g >> 3, symbol), 0, 0))
            phases.append(groups)
            taken = [i for i in taken if groups[i >> 3] and groups[i >> 3][2] >> (i & 7) & 1]
        for i in range(self.n):                      # ZERO blocks say the truth
            if lams[i] is None:
                assert self.content[i] == (0 if self.method == PLAIN else self.reference[i])
        phases.append([None if lams[i] is None else
                       ("elements", bank.which("elements", lams[i]), *self.token(bank, i)) for i in taken])
        return phases

    def build(self, bank):
        """The substream under a bank whose tables hold all its symbols."""
        phases = [[s and Step(getattr(bank, s[0])[s[1]], *s[2:]) for s in phase] for phase in self.phases(bank)]
        states, words = encode(phases, 1 << self.lanes, self.early, self.final)
        return Substream(self.method, pack(states, words), bank=self.slot, block=self.block, shift=self.shift,
                         lanes=self.lanes, flags=PROFILES if self.profile else 0, scale_base=self.scale_base)


def fit_bank(bank, coded, fit):
    """Fills the tables of a bank from the symbols of some substreams; tables without symbols stay as they are."""
    counts = {}
    for substream in coded:
        for phase in substream.phases(bank):
            for step in phase:
                if step:
                    counts.setdefault(step[:2], {}).setdefault(step[2], 0)
                    counts[step[:2]][step[2]] += 1
    for (group, index), histogram in counts.items():
        getattr(bank, group)[index] = fit(histogram, bank.precision)
    return bank
