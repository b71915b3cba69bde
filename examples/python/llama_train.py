#!/usr/bin/env python3
"""Trains a small Llama on bytes of text with everything but attention in coda (llama_train.coda), beside the same model in
PyTorch, and compares their loss curves: each run's distance from PyTorch's, beside what other seeds of PyTorch's lie apart.

    llama_train.py [--target sm_90a] [--steps 200] [--seeds 3] [--images FOLDER] [FILE...]

FILEs are the text, by default the sources beside this one. Forward and backward blocks are what `grad` derives; attention
is PyTorch's, as are the embedding, the optimizer and the order of batches. Weights are f32, rounded to bf16 for each step.
"""
import argparse
import pathlib
import time

import torch
from torch.nn import functional as F

import coda
import coda_torch

HERE = pathlib.Path(__file__).resolve().parent
SIZES = {"cuda": dict(D=512, Hq=8, Hkv=4, Dh=64, F=1408), "cpu": dict(D=64, Hq=2, Hkv=1, Dh=32, F=96)}
VOCABULARY, LAYERS = 256, 4


def coda_blocks(target, sizes, rows, folder):
    """{name: differentiable operator} of llama_train.coda, from images in `folder` where they are there, else compiled for
    `rows` rows; they run on any number."""
    path, blocks = HERE / "llama_train.coda", {}
    heads = {k: sizes[k] for k in ("Hq", "Hkv", "Dh")}
    layer = dict(T=rows, D=sizes["D"])
    ends = layer | dict(A=sizes["Hq"] * sizes["Dh"], F=sizes["F"])
    for name, given, likely in ("first", heads, layer), ("middle", heads, ends), ("last", {}, ends | dict(V=VOCABULARY)):
        images = []
        for kernel in name + "_fwd", name + "_bwd":
            saved = folder and folder / f"{kernel}.{target}.coda.bin"
            if saved and saved.exists():
                images.append(coda.load(saved))
                continue
            images.append(coda.compile(path.read_text(), kernel=kernel, target=target, path=str(path), **given, **likely))
            if saved:
                images[-1].save(saved)
        blocks[name] = coda_torch.differentiable(f"llama_train::{name}", *images, **given)
    return blocks


def torch_blocks(sizes):
    """The same formulas in PyTorch's bf16."""
    hq, hkv, dh = sizes["Hq"], sizes["Hkv"], sizes["Dh"]

    def norm(x, g):
        return (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * g

    def rotate(x, cos, sin):
        a, b = x.float().chunk(2, dim=-1)
        cos, sin = cos[:, None, :], sin[:, None, :]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1).to(x.dtype)

    def first(x, g, wqkv, cos, sin):
        q, k, v = F.linear(norm(x, g), wqkv).split([hq * dh, hkv * dh, hkv * dh], dim=1)
        heads = lambda z: z.reshape(z.shape[0], -1, dh)
        return rotate(heads(q), cos, sin), rotate(heads(k), cos, sin), heads(v)

    def feed_forward(x, attn, wo, g1, w_gate_up, w_down):
        h = x + F.linear(attn, wo)
        gate, up = F.linear(norm(h, g1), w_gate_up).chunk(2, dim=1)
        return h + F.linear(F.silu(gate) * up, w_down)

    def middle(x, attn, wo, g1, w_gate_up, w_down, g2, wqkv, cos, sin):
        y = feed_forward(x, attn, wo, g1, w_gate_up, w_down)
        return y, *first(y, g2, wqkv, cos, sin)

    def last(x, attn, wo, g1, w_gate_up, w_down, g2, w_out, target):
        logits = F.linear(norm(feed_forward(x, attn, wo, g1, w_gate_up, w_down), g2), w_out)
        return F.cross_entropy(logits.float(), target, reduction="none")

    return dict(first=first, middle=middle, last=last)


class Llama(torch.nn.Module):
    """LAYERS layers over `blocks`; parameters in f32."""

    def __init__(self, blocks, sizes, sequence, seed, device):
        super().__init__()
        self.blocks, self.sizes, self.sequence = blocks, sizes, sequence
        generator = torch.Generator().manual_seed(seed)
        d, dh, f = sizes["D"], sizes["Dh"], sizes["F"]
        q, kv = sizes["Hq"] * dh, sizes["Hkv"] * dh

        def weight(rows, columns):
            return torch.nn.Parameter((torch.randn(rows, columns, generator=generator) / columns ** 0.5).to(device))

        def gain():
            return torch.nn.Parameter(torch.ones(d, device=device))
        self.embedding = torch.nn.Parameter(torch.randn(VOCABULARY, d, generator=generator).to(device) * 0.5)
        self.wqkv = torch.nn.ParameterList(weight(q + 2 * kv, d) for _ in range(LAYERS))
        self.wo = torch.nn.ParameterList(weight(d, q) for _ in range(LAYERS))
        self.w_gate_up = torch.nn.ParameterList(weight(2 * f, d) for _ in range(LAYERS))
        self.w_down = torch.nn.ParameterList(weight(d, f) for _ in range(LAYERS))
        self.g1 = torch.nn.ParameterList(gain() for _ in range(LAYERS))
        self.g2 = torch.nn.ParameterList(gain() for _ in range(LAYERS + 1))
        self.w_out = weight(VOCABULARY, d)
        angle = torch.arange(sequence)[:, None] * 10000.0 ** (-torch.arange(dh // 2) / (dh // 2))
        self.angle = angle.to(device)

    def attention(self, q, k, v):
        """Causal, within each sequence; PyTorch's."""
        heads = lambda z: z.reshape(-1, self.sequence, z.shape[1], z.shape[2]).transpose(1, 2)
        grouped = self.sizes["Hq"] // self.sizes["Hkv"]
        k, v = (heads(z).repeat_interleave(grouped, dim=1) for z in (k, v))
        return F.scaled_dot_product_attention(heads(q), k, v, is_causal=True).transpose(1, 2).reshape(q.shape[0], -1)

    def forward(self, tokens, target):
        half = lambda parameter: parameter.bfloat16()
        angle = self.angle.repeat(tokens.numel() // self.sequence, 1)
        cos, sin = angle.cos(), angle.sin()
        x = half(self.embedding)[tokens.reshape(-1)]
        q, k, v = self.blocks["first"](x, half(self.g2[0]), half(self.wqkv[0]), cos, sin)
        for i in range(LAYERS):
            attn = self.attention(q, k, v)
            layer = (x, attn, half(self.wo[i]), half(self.g1[i]), half(self.w_gate_up[i]), half(self.w_down[i]),
                     half(self.g2[i + 1]))
            if i + 1 == LAYERS:
                return self.blocks["last"](*layer, half(self.w_out), target.reshape(-1)).mean()
            x, q, k, v = self.blocks["middle"](*layer, half(self.wqkv[i + 1]), cos, sin)


def batches(text, batch, sequence, steps, seed):
    generator = torch.Generator().manual_seed(1000 + seed)
    for _ in range(steps):
        starts = torch.randint(0, len(text) - sequence - 1, (batch,), generator=generator)
        rows = torch.stack([text[s:s + sequence + 1] for s in starts.tolist()])
        yield rows[:, :-1], rows[:, 1:]


def train(blocks, sizes, text, args, seed, compiled=False):
    """Losses of each step; bytes that one step's forward keeps for its backward; seconds a step."""
    device = text.device
    model = Llama(blocks, sizes, args.sequence, seed, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.rate, betas=(0.9, 0.95), weight_decay=0.1)
    step = torch.compile(model, dynamic=False) if compiled else model
    losses, kept, began = [], 0, None
    for i, (tokens, target) in enumerate(batches(text, args.batch, args.sequence, args.steps, seed)):
        for group in optimizer.param_groups:
            group["lr"] = args.rate * min(1, (i + 1) / 20)
        if i == args.steps // 2:
            losses[-1].item()
            began = time.perf_counter()
        before = torch.cuda.memory_allocated() if device.type == "cuda" else 0
        loss = step(tokens, target)
        kept = torch.cuda.memory_allocated() - before if device.type == "cuda" else 0
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    losses = [loss.item() for loss in losses]
    return losses, kept, (time.perf_counter() - began) / (args.steps - args.steps // 2)


def smoothed(losses, width):
    tensor = torch.tensor(losses)
    return tensor.unfold(0, width, 1).mean(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--target", default="sm_90a" if torch.cuda.is_available() else "host")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--sequence", type=int, default=256)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--images", type=pathlib.Path)
    parser.add_argument("--compile", action="store_true", help="also time torch.compile of PyTorch's model")
    args = parser.parse_args()
    device = "cpu" if args.target == "host" else "cuda"
    files = args.files or sorted(HERE.glob("*.py")) + sorted(HERE.parent.rglob("*.coda"))
    text = torch.tensor(list(b"".join(file.read_bytes() for file in files)), device=device)
    sizes = SIZES[device]
    theirs = torch_blocks(sizes)
    ours = coda_blocks(args.target, sizes, args.batch * args.sequence, args.images)
    width = min(20, args.steps)
    kinds = {"PyTorch": theirs, "coda": ours}
    runs = {kind: [train(blocks, sizes, text, args, seed) for seed in range(args.seeds)] for kind, blocks in kinds.items()}
    curves = {kind: [smoothed(losses, width) for losses, _, _ in results] for kind, results in runs.items()}
    spread = max((a - b).abs().max().item() for a in curves["PyTorch"] for b in curves["PyTorch"])
    apart = max((a - b).abs().max().item() for a, b in zip(curves["PyTorch"], curves["coda"]))
    if args.compile:
        runs["torch.compile"] = [train(theirs, sizes, text, args, 0, compiled=True)]
    print(f"{LAYERS} layers, {sizes}, {args.batch} x {args.sequence} bytes a step, {args.steps} steps, {args.seeds} seeds")
    for kind, results in runs.items():
        losses, kept, seconds = results[0]
        print(f"{kind:14} loss {losses[0]:.3f} -> {sum(losses[-width:]) / width:.3f}   {seconds * 1e3:.2f} ms a step   "
              f"{kept / 1e6:.0f} MB kept for the backward")
    print(f"the same seed in coda and in PyTorch: at most {apart:.4f} apart; other seeds in PyTorch: {spread:.4f} "
          f"(means over {width} steps)")
    if not apart <= spread:
        raise SystemExit("coda's curves lie outside of PyTorch's spread")


if __name__ == "__main__":
    main()
