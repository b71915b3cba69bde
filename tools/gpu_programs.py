"""The programs that gpu_kernels.py runs: their inputs, outputs between guard zones, and what torch says they must give."""
import math

import torch

GUARD = 64
POISON = -123.0


class Output:
    """A poisoned tensor inside a poisoned buffer. Rows of matrices keep their alignment if asked."""

    def __init__(self, shape, dtype, aligned=True):
        if len(shape) == 2:
            pitch = shape[1] + 2 * GUARD
            pitch = -(-pitch // 64) * 64 if aligned else pitch | 1
            self.buffer = torch.full((shape[0] + 4, pitch), POISON, dtype=dtype, device="cuda")
            self.inside = (slice(2, 2 + shape[0]), slice(GUARD, GUARD + shape[1]))
            self.view = self.buffer[self.inside]
        else:
            count = math.prod(shape)
            self.buffer = torch.full((count + 2 * GUARD,), POISON, dtype=dtype, device="cuda")
            self.inside = slice(GUARD, GUARD + count)
            self.view = self.buffer[self.inside].view(shape)
        self.start = None  # what an inout begins with

    def reset(self):
        self.buffer.fill_(POISON)
        if self.start is not None:
            self.view.copy_(self.start)

    def intact(self):
        copy = self.buffer.clone()
        copy[self.inside] = POISON
        return bool((copy == POISON).all())


def error(got, want):
    if want.numel() == 0:
        return 0.0
    norm = want.double().norm().item()
    return (got.double() - want.double()).norm().item() / (norm if norm else 1.0)


def operand(rows, depth, depth_major, dtype, offset=0, scale=1.0):
    """Logical [rows, depth], stored as asked, possibly at an odd address."""
    shape = (rows, depth) if depth_major else (depth, rows)
    flat = torch.empty(rows * depth + offset, dtype=dtype, device="cuda")
    t = flat[offset:].view(shape)
    t.copy_(torch.randn(shape, device="cuda") * scale)
    return t


def logical(t, depth_major):
    return t if depth_major else t.t()


def layouts(name):
    return (name[5] == "k", name[6] == "k") if name[5:7] in ("kk", "kn", "mk", "mn") else (True, True)


def weights(n, k, offset=0, depth_major=True, dtype=torch.bfloat16):
    return operand(n, k, depth_major, dtype, offset, max(k, 1) ** -0.5)


def product(a, b):
    return a.float() @ b.float().t()


# Programs: name prefix -> dims of (m, n, k), and a function of (name, dims, operand offset, aligned outputs) that gives
# inputs, outputs and what is wanted.
def gemm(name, d, offset, aligned):
    a_major, b_major = layouts(name)
    dtype, out = (torch.float16, torch.float32) if "f16" in name else (torch.bfloat16, torch.bfloat16)
    a = operand(d["M"], d["K"], a_major, dtype, offset)
    b = weights(d["N"], d["K"], offset, b_major, dtype)
    want = product(logical(a, a_major), logical(b, b_major))
    return {"a": a, "b": b}, {"d": Output((d["M"], d["N"]), out, aligned)}, {"d": want}


def gate_up(name, d, offset, aligned):
    x, w = operand(d["M"], d["K"], True, torch.bfloat16, offset), weights(2 * d["F"], d["K"], offset)
    rstd = torch.rand(d["M"], device="cuda") + 0.5
    z = product(x, w) * rstd[:, None]
    want = torch.nn.functional.silu(z[:, :d["F"]]) * z[:, d["F"]:]
    return {"x": x, "w": w, "rstd": rstd}, {"act": Output((d["M"], d["F"]), torch.bfloat16, aligned)}, {"act": want}


def pairs(name, d, offset, aligned):
    a, b = operand(d["M"], d["K"], True, torch.bfloat16, offset), weights(2 * d["F"], d["K"], offset)
    z = product(a, b)
    want = torch.nn.functional.silu(z[:, 0::2]) * z[:, 1::2]
    return {"a": a, "b": b}, {"act": Output((d["M"], d["F"]), torch.bfloat16, aligned)}, {"act": want}


def bias_gelu(name, d, offset, aligned):
    x, w = operand(d["M"], d["K"], True, torch.bfloat16, offset), weights(d["N"], d["K"], offset)
    bias = operand(1, d["N"], True, torch.bfloat16, offset)[0]
    want = torch.nn.functional.gelu(product(x, w) + bias.float(), approximate="tanh")
    return {"x": x, "w": w, "bias": bias}, {"y": Output((d["M"], d["N"]), torch.bfloat16, aligned)}, {"y": want}


def residual(name, d, offset, aligned):
    m, n = d["M"], d["N"]
    x, w = operand(m, d["K"], True, torch.bfloat16, offset), weights(n, d["K"], offset)
    r, gain = operand(m, n, True, torch.bfloat16, offset), operand(1, n, True, torch.bfloat16, offset)[0]
    h = (product(x, w) + r.float()).bfloat16().float()
    outputs = {"h": Output((m, n), torch.bfloat16, aligned), "scaled": Output((m, n), torch.bfloat16, aligned),
               "squares": Output((m,), torch.float32)}
    return {"x": x, "w": w, "r": r, "gain": gain}, outputs, {"h": h, "scaled": h * gain.float(),
                                                             "squares": (h * h).sum(1)}


def qkv_rope(name, d, offset, aligned):
    m, k, hq, hkv, dh = d["M"], d["D"], 32, 8, 128
    h, w = operand(m, k, True, torch.bfloat16, offset), weights((hq + 2 * hkv) * dh, k, offset)
    rstd = torch.rand(m, device="cuda") + 0.5
    angle = torch.rand(m, dh // 2, device="cuda") * 6
    cos, sin = angle.cos(), angle.sin()
    z = (product(h, w) * rstd[:, None]).view(m, hq + 2 * hkv, dh)
    a, b = z[..., :dh // 2], z[..., dh // 2:]
    c, s = cos[:, None], sin[:, None]
    turned = torch.cat([a * c - b * s, b * c + a * s], -1)
    want = {"q": turned[:, :hq], "k": turned[:, hq:hq + hkv], "v": z[:, hq + hkv:]}
    outputs = {o: Output(tuple(t.shape), torch.bfloat16) for o, t in want.items()}
    return {"h": h, "w": w, "rstd": rstd, "cos": cos, "sin": sin}, outputs, want


def linear_ce(name, d, offset, aligned):
    m, v = d["M"], d["V"]
    x, w = operand(m, d["D"], True, torch.bfloat16, offset), weights(v, d["D"], offset)
    t = torch.randint(0, v, (m,), device="cuda")
    t[::5] = -100
    z = product(x, w)
    lse = z.logsumexp(1)
    loss = torch.where(t == -100, 0.0, lse - z.gather(1, t.clamp(min=0)[:, None])[:, 0])
    return ({"x": x, "w": w, "t": t}, {"loss": Output((m,), torch.float32), "lse": Output((m,), torch.float32)},
            {"loss": loss, "lse": lse})


def head_norm(name, d, offset, aligned):
    m, heads, dh = d["M"], d["H"], 64
    a, b = operand(m, d["K"], True, torch.bfloat16, offset), weights(heads * dh, d["K"], offset)
    g = torch.randn(dh, device="cuda")
    z = product(a, b).view(m, heads, dh)
    want = z * torch.rsqrt((z * z).mean(-1, keepdim=True) + 1e-6) * g
    return {"a": a, "b": b, "g": g}, {"q": Output((m, heads, dh), torch.bfloat16)}, {"q": want}


def columns(name, d, offset, aligned):
    m, n = d["M"], d["N"]
    a, b = operand(m, d["K"], True, torch.bfloat16, offset), weights(n, d["K"], offset)
    z = product(a, b)
    outputs = {"d": Output((m, n), torch.float32, aligned), "s": Output((n,), torch.float32),
               "m": Output((n,), torch.float32)}
    return {"a": a, "b": b}, outputs, {"d": z, "s": z.sum(0), "m": z.abs().amax(0)}


def adamw(name, d, offset, aligned):
    t, n, k = d["T"], d["N"], d["K"]
    x, dz = operand(k, t, False, torch.bfloat16, offset), operand(n, t, False, torch.bfloat16, offset, max(t, 1) ** -0.5)
    g = dz.float().t() @ x.float()
    p, m = Output((n, k), torch.float32, aligned), Output((n, k), torch.float32, aligned)
    p.start, m.start = torch.randn(n, k, device="cuda"), torch.randn(n, k, device="cuda")
    lr, b1 = 0.125, 0.75
    new_m = b1 * m.start + (1 - b1) * g
    new_p = p.start - lr * new_m
    outputs = {"p": p, "m": m, "w": Output((n, k), torch.bfloat16, aligned)}
    return {"x": x, "dz": dz, "lr": lr, "b1": b1}, outputs, {"p": new_p, "m": new_m, "w": new_p}


PROGRAMS = {
    "gemm": (gemm, lambda m, n, k: {"M": m, "N": n, "K": k}),
    "gate_up": (gate_up, lambda m, n, k: {"M": m, "F": n, "K": k}),
    "pairs": (pairs, lambda m, n, k: {"M": m, "F": n, "K": k}),
    "bias_gelu": (bias_gelu, lambda m, n, k: {"M": m, "N": n, "K": k}),
    "residual": (residual, lambda m, n, k: {"M": m, "N": n, "K": k}),
    "qkv_rope": (qkv_rope, lambda m, n, k: {"M": m, "D": k, "Hq": 32, "Hkv": 8, "Dh": 128}),
    "linear_ce": (linear_ce, lambda m, n, k: {"M": m, "V": n, "D": k}),
    "head_norm": (head_norm, lambda m, n, k: {"M": m, "H": max(1, n // 64), "K": k, "Dh": 64}),
    "columns": (columns, lambda m, n, k: {"M": m, "N": n, "K": k}),
    "adamw": (adamw, lambda m, n, k: {"N": m, "K": n, "T": k}),
}
TOLERANCE = {torch.bfloat16: 4e-3, torch.float16: 1e-3, torch.float32: 5e-5}
# Sums over rounded values, and differences: less exact than their type.
LOOSE = {"squares": 1e-3, "s": 2e-4}


def family(name):
    return max((p for p in PROGRAMS if name.startswith(p)), key=len)


def dims_for(name, m, n, k):
    return PROGRAMS[family(name)][1](m, n, k)
