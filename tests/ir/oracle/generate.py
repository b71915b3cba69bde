"""Writes <op>.txt: pairs of arguments and results, computed by mpmath (pip install mpmath) with 60 digits.

Each line: the arguments, then the result, all as C hexadecimal doubles. Arguments are exact f32 values."""
import os, random, struct
import mpmath as mp

mp.mp.dps = 60
HERE = os.path.dirname(os.path.abspath(__file__))


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def spread(low, high, n=40):
    """Values over [low, high]: even, near both ends, and near zero where the interval holds it."""
    rng = random.Random(f"{low} {high}")
    xs = [f32(low + (high - low) * i / 19) for i in range(20)]
    xs += [f32(rng.uniform(low, high)) for _ in range(n - 30)]
    xs += [f32(s * 10.0**-e) for e in (1, 2, 4, 8, 20) for s in (1, -1) if low <= s * 10.0**-e <= high]
    return [x for x in xs if low <= x <= high]


UNARY = {
    "neg": (lambda x: -x, -100, 100),
    "abs": (abs, -100, 100),
    "sign": (mp.sign, -10, 10),
    "floor": (mp.floor, -20, 20),
    "ceil": (mp.ceil, -20, 20),
    "trunc": (lambda x: mp.floor(x) if x >= 0 else mp.ceil(x), -20, 20),
    "round": (mp.nint, -20, 20),
    "sqrt": (mp.sqrt, 0, 1e6),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), 1e-6, 1e6),
    "recip": (lambda x: 1 / x, 0.001, 1e6),
    "exp": (mp.exp, -87, 88),
    "exp2": (lambda x: mp.mpf(2) ** x, -126, 127),
    "expm1": (mp.expm1, -10, 20),
    "log": (mp.log, 1e-6, 1e6),
    "log2": (lambda x: mp.log(x, 2), 1e-6, 1e6),
    "log1p": (mp.log1p, -0.9, 100),
    "tanh": (mp.tanh, -10, 10),
    "tanh_fast": (mp.tanh, -10, 10),
    "sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), -80, 80),
    "erf": (mp.erf, -5, 5),
    "sin": (mp.sin, -30, 30),
    "cos": (mp.cos, -30, 30),
}
BINARY = {
    "div": (lambda x, y: x / y, (-10, 10), (0.1, 50)),
    "min": (min, (-3, 3), (-3, 3)),
    "max": (max, (-3, 3), (-3, 3)),
    "floordiv": (lambda x, y: mp.floor(x / y), (-50, 50), (0.3, 7)),
    "mod": (lambda x, y: x - y * mp.floor(x / y), (-50, 50), (0.3, 7)),
    "pow": (lambda x, y: x**y, (0.01, 20), (-12, 12)),
}


def write(name, rows):
    with open(os.path.join(HERE, name + ".txt"), "w") as out:
        out.write("# arguments and result, by generate.py\n")
        for row in rows:
            out.write(" ".join(float(v).hex() for v in row) + "\n")


for name, (f, low, high) in UNARY.items():
    write(name, [(x, f(mp.mpf(x))) for x in spread(low, high)])
for name, (f, xs, ys) in BINARY.items():
    rows = []
    left, right = spread(*xs), spread(*ys)
    random.Random(name).shuffle(right)
    for x, y in zip(left, right):
        if name in ("floordiv", "mod") and len(rows) % 2:
            y = -y
        rows.append((x, y, f(mp.mpf(x), mp.mpf(y))))
    write(name, rows)

# logsumexp: the number of elements, the elements, the result.
rows = []
rng = random.Random("logsumexp")
for offset in (0, 1e4, -1e4, 700, -700, 3e8):
    for n in (1, 2, 5, 9, 17, 3):
        xs = [f32(offset + rng.uniform(-8, 8)) for _ in range(n)]
        rows.append([n] + xs + [mp.log(mp.fsum([mp.exp(mp.mpf(x)) for x in xs]))])
write("logsumexp", rows)
