"""The PyTorch operator on the host, eager and traced: torch_test.py LIBCODA EXAMPLES. Skipped where there is no PyTorch."""
import os
import sys

os.environ["CODA_LIBRARY"] = sys.argv[1]
sys.path.insert(0, os.path.join(sys.argv[2], "python"))
try:
    import torch
    from torch import library as registry
except ImportError:
    print("skipped: no PyTorch")
    sys.exit(0)
import coda  # noqa: E402
import coda_torch  # noqa: E402

SGD = """kernel sgd(x: bf16[K, M], g: bf16[K, N], inout w: f32[M, N], lr: f32, decay: f32 = 0.5) -> (norm: f32[M]) {
    let d = x.T @ g
    w = w * decay - lr * d
    norm = sum(d * d, over = N)
}"""


def close(a, b):
    torch.testing.assert_close(a.float(), b.float(), rtol=2e-2, atol=2e-2)


def gate_up():
    path = os.path.join(sys.argv[2], "gate_up.coda")
    operator = coda_torch.operator("coda_test::gate_up", coda.compile(open(path).read(), path=path))
    torch.manual_seed(1)

    def reference(x, w, rstd):
        gate, up = ((x.float() @ w.float().T) * rstd[:, None]).chunk(2, dim=1)
        return (torch.nn.functional.silu(gate) * up).bfloat16()

    def arguments(m, k, f):
        return (torch.randn(m, k).bfloat16(), torch.randn(2 * f, k).bfloat16() / k ** 0.5, torch.rand(m))

    for m, k, f in (5, 16, 12), (1, 8, 3), (33, 40, 7):
        given = arguments(m, k, f)
        act = operator(*given)
        assert act.shape == (m, f) and act.dtype == torch.bfloat16
        close(act, reference(*given))
    given = arguments(5, 16, 12)
    registry.opcheck(operator, given)
    compiled = torch.compile(lambda *a: operator(*a) * 2, backend="aot_eager", fullgraph=True, dynamic=True)
    for m in 5, 9:
        given = arguments(m, 16, 12)
        close(compiled(*given), reference(*given) * 2)
    meta = operator(*(tensor.to("meta") for tensor in given))
    assert meta.shape == (9, 12) and meta.device.type == "meta"


def inout():
    operator = coda_torch.operator("coda_test::sgd", coda.compile(SGD))
    x, g, w = torch.randn(16, 6).bfloat16(), torch.randn(16, 8).bfloat16(), torch.randn(6, 8)
    d = x.float().T @ g.float()
    for decay in None, 0.25:
        updated = w.clone()
        norm = operator(x, g, updated, 0.5, *([] if decay is None else [decay]))
        close(updated, w * (decay or 0.5) - 0.5 * d)
        torch.testing.assert_close(norm, (d * d).sum(1))
    registry.opcheck(operator, (x, g, w.clone(), 0.5))


def undetermined():
    text = "kernel k(x: f32[M, K]) -> (y: f32[M, N]) { y = sum(x, over = K) + f32(index(N)) }"
    try:
        coda_torch.operator("coda_test::undetermined", coda.compile(text))
    except coda.Error as error:
        assert "no input's shape gives N" in str(error), error
    else:
        raise AssertionError("a shape from nowhere")
    operator = coda_torch.operator("coda_test::determined", coda.compile(text), N=3)
    assert operator(torch.ones(2, 5)).tolist() == [[5, 6, 7]] * 2


def gradients():
    path = os.path.join(sys.argv[2], "mlp_block.coda")
    text = open(path).read() + "\ngrad mlp wrt (x, attn, wo, gain, w_gate_up, w_down)\n"
    images = [coda.compile(text, kernel=kernel, path=path) for kernel in ("mlp_fwd", "mlp_bwd")]
    mlp = coda_torch.differentiable("coda_test::mlp", *images)

    def reference(x, attn, wo, gain, w_gate_up, w_down):
        h = x + attn @ wo.T
        n = h * torch.rsqrt((h * h).mean(1, keepdim=True) + 1e-5) * gain
        gate, up = (n @ w_gate_up.T).chunk(2, dim=1)
        return h + (torch.nn.functional.silu(gate) * up) @ w_down.T

    torch.manual_seed(2)
    t, d, a, f = 9, 24, 16, 20
    given = [torch.randn(t, d), torch.randn(t, a), torch.randn(d, a) / 4, torch.rand(d) + 0.5, torch.randn(2 * f, d) / 5,
             torch.randn(d, f) / 5]
    ours = [g.bfloat16().requires_grad_() for g in given]
    theirs = [g.detach().double().requires_grad_() for g in ours]
    above = torch.randn(t, d).bfloat16()
    for call in mlp, torch.compile(mlp, backend="aot_eager", fullgraph=True):
        for leaf in ours + theirs:
            leaf.grad = None
        y, want = call(*ours), reference(*theirs)
        assert ((y.double() - want).norm() / want.norm()).item() < 1e-2
        y.backward(above)
        want.backward(above.double())
        for mine, other in zip(ours, theirs):
            assert mine.grad.dtype == mine.dtype
            assert ((mine.grad.double() - other.grad).norm() / other.grad.norm()).item() < 1e-2


def refused_gradient():
    text = "block f(x: bf16[T, D], w: bf16[N, D]) -> (y: bf16[T, N]) { y = x @ w.T }\ngrad f wrt (x, w: f32 +=)\n"
    images = [coda.compile(text, kernel=kernel) for kernel in ("f_fwd", "f_bwd")]
    try:
        coda_torch.differentiable("coda_test::accumulates", *images)
    except coda.Error as error:
        assert "updated in place" in str(error), error
    else:
        raise AssertionError("an update in place under autograd")


gate_up()
gradients()
refused_gradient()
inout()
undetermined()
print("ok")
