"""Writes prelude.txt: functions of the standard library on rows of eight numbers, computed by mpmath with 60 digits from
their definitions in the literature, not from the library's text.

A line `call <expression of x>`, then pairs of lines `x <row>` and `y <row>`, in C hexadecimal doubles; the x are exact
f32 values."""
import os, random, struct
import mpmath as mp

mp.mp.dps = 60
HERE = os.path.dirname(os.path.abspath(__file__))


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def elementwise(f):
    return lambda xs: [f(x) for x in xs]


def normal_cdf(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def softplus(x):
    return mp.log1p(mp.exp(x))


def gelu_tanh(x):
    return x / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3)))


def hard_sigmoid(x):
    return min(max(x / 6 + mp.mpf(1) / 2, mp.mpf(0)), mp.mpf(1))


def gated(f, pairs=False):
    def value(xs):
        gates, ups = (xs[::2], xs[1::2]) if pairs else (xs[:4], xs[4:])
        return [f(g) * u for g, u in zip(gates, ups)]

    return value


def clamped_swiglu(xs):
    gates = [min(g, mp.mpf(7)) for g in xs[:4]]
    ups = [min(max(u, mp.mpf(-7)), mp.mpf(7)) for u in xs[4:]]
    return [g * sigmoid(mp.mpf("1.702") * g) * (u + 1) for g, u in zip(gates, ups)]


def mean(xs):
    return mp.fsum(xs) / len(xs)


def variance(xs):
    return mean([(x - mean(xs)) ** 2 for x in xs])


def logsumexp(xs):
    return mp.log(mp.fsum([mp.exp(x) for x in xs]))


def of_row(f):
    return lambda xs: [f(xs)] * len(xs)


def rope(position, base, interleaved):
    def value(xs):
        ys = list(xs)
        half = len(xs) // 2
        for i in range(half):
            angle = position * mp.mpf(base) ** (-mp.mpf(i) / half)
            a, b = (2 * i, 2 * i + 1) if interleaved else (i, half + i)
            ys[a] = xs[a] * mp.cos(angle) - xs[b] * mp.sin(angle)
            ys[b] = xs[b] * mp.cos(angle) + xs[a] * mp.sin(angle)
        return ys

    return value


def smoothed(xs, target, smoothing):
    share = mp.mpf(smoothing) / len(xs)
    weights = [share + (1 - mp.mpf(smoothing) if i == target else 0) for i in range(len(xs))]
    return mp.fsum([w * (logsumexp(xs) - x) for w, x in zip(weights, xs)])


# The expression, its value, and how far from 0 the rows lie.
CALLS = [
    ("silu(x)", elementwise(lambda x: x * sigmoid(x)), "activation"),
    ("gelu(x)", elementwise(lambda x: x * normal_cdf(x)), "activation"),
    ("gelu_erf(x)", elementwise(lambda x: x * normal_cdf(x)), "activation"),
    ("gelu_tanh(x)", elementwise(gelu_tanh), "activation"),
    ("gelu_quick(x)", elementwise(lambda x: x * sigmoid(mp.mpf("1.702") * x)), "activation"),
    ("relu_squared(x)", elementwise(lambda x: max(x, mp.mpf(0)) ** 2), "activation"),
    ("leaky_relu(x)", elementwise(lambda x: x if x > 0 else x * mp.mpf("0.01")), "activation"),
    ("elu(x, 1.5)", elementwise(lambda x: x if x > 0 else mp.mpf("1.5") * mp.expm1(x)), "activation"),
    ("softplus(x)", elementwise(softplus), "activation"),
    ("mish(x)", elementwise(lambda x: x * mp.tanh(softplus(x))), "activation"),
    ("hard_sigmoid(x)", elementwise(hard_sigmoid), "activation"),
    ("hard_swish(x)", elementwise(lambda x: x * hard_sigmoid(x)), "activation"),
    ("softcap(x, 30)", elementwise(lambda x: 30 * mp.tanh(x / 30)), "activation"),
    ("silu_slope(x)", elementwise(lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x)))), "activation"),
    ("gelu_tanh_slope(x)", elementwise(lambda x: mp.diff(gelu_tanh, x)), "activation"),
    ("swiglu(x)", gated(lambda x: x * sigmoid(x)), "activation"),
    ("swiglu_pairs(x)", gated(lambda x: x * sigmoid(x), True), "activation"),
    ("swiglu_clamped(x)", clamped_swiglu, "activation"),
    ("geglu(x)", gated(lambda x: x * normal_cdf(x)), "activation"),
    ("geglu_tanh(x)", gated(gelu_tanh), "activation"),
    ("glu(x)", gated(sigmoid), "activation"),
    ("softmax(x)", lambda xs: [mp.exp(x - logsumexp(xs)) for x in xs], "logits"),
    ("log_softmax(x)", lambda xs: [x - logsumexp(xs) for x in xs], "logits"),
    ("logsumexp(x, over = N) + 0 * x", of_row(logsumexp), "logits"),
    ("cross_entropy(x, 2) + 0 * x", of_row(lambda xs: logsumexp(xs) - xs[2]), "logits"),
    ("smoothed_cross_entropy(x, 5, smoothing = 0.1) + 0 * x", of_row(lambda xs: smoothed(xs, 5, "0.1")), "logits"),
    ("rmsnorm(x, 1)", lambda xs: [x / mp.sqrt(mean([v * v for v in xs]) + mp.mpf("1e-6")) for x in xs], "rows"),
    ("standardise(x)", lambda xs: [(x - mean(xs)) / mp.sqrt(variance(xs) + mp.mpf("1e-5")) for x in xs], "rows"),
    ("layernorm(x, 2, 0.5)",
     lambda xs: [2 * (x - mean(xs)) / mp.sqrt(variance(xs) + mp.mpf("1e-5")) + mp.mpf(1) / 2 for x in xs], "rows"),
    ("l2norm(x)", lambda xs: [x / mp.sqrt(mp.fsum([v * v for v in xs]) + mp.mpf("1e-12")) for x in xs], "rows"),
    ("variance(x, over = N) + 0 * x", of_row(variance), "rows"),
    ("deviation(x, over = N) + 0 * x", of_row(lambda xs: mp.sqrt(variance(xs))), "rows"),
    ("rope_at(x, 4095, rope_frequency(N/2))", rope(4095, 10000, False), "rows"),
    ("rope_interleaved(x, cos(7 * rope_frequency(N/2, base = 500000)), sin(7 * rope_frequency(N/2, base = 500000)))",
     rope(7, 500000, True), "rows"),
]
ROWS = {
    "activation": [(0, 1), (0, 8), (0, 1e-6), (0, 60), (-4, 3), (5, 1e-3)],
    "logits": [(0, 4), (0, 40), (1e4, 8), (-1e4, 8), (3e6, 20), (-700, 5)],
    "rows": [(0, 1), (0, 1e-4), (100, 3), (-3e3, 50), (0, 1e6)],
}

with open(os.path.join(HERE, "prelude.txt"), "w") as out:
    out.write("# by generate.py, which says what this is\n")
    for call, f, kind in CALLS:
        out.write(f"call {call}\n")
        rng = random.Random(call)
        for middle, reach in ROWS[kind]:
            xs = [f32(middle + rng.uniform(-reach, reach)) for _ in range(8)]
            ys = f([mp.mpf(x) for x in xs])
            out.write("x " + " ".join(x.hex() for x in xs) + "\n")
            out.write("y " + " ".join(float(y).hex() for y in ys) + "\n")
