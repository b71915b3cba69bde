"""A coda kernel or block as a PyTorch operator, in eager code, under torch.compile and torch.export.

    import coda, coda_torch
    gate_up = coda_torch.operator("mylib::gate_up", coda.compile(text, target="sm_90a"))
    act = gate_up(x, w, rstd)        # outputs are allocated and returned; inouts are updated in place

    mlp = coda_torch.differentiable("mylib::mlp", coda.compile(text, kernel="mlp_fwd", target="sm_90a"),
                                    coda.compile(text, kernel="mlp_bwd", target="sm_90a"))   # text has `grad mlp wrt (...)`
    mlp(x, attn, wo, gain, w_gate_up, w_down).sum().backward()

The operator takes the program's parameters except its outputs, in order. Scalars with a default may be left out. Shapes of
outputs follow from those of the inputs, also symbolic ones; a symbol that no input's shape gives is named at definition.
"""
import re

import torch
from torch import library as registry

import coda

_TORCH_DTYPES = {name: getattr(torch, torch_name) for torch_name, name in coda.TORCH_NAMES.items()
                 if hasattr(torch, torch_name)}
_SYMBOL = re.compile(r"[A-Za-z_]\w*")


def _expression(dim):
    """The text of a dimension as an expression of Python's: there `M/A*B` divides by A*B."""
    factor = r"(?:\w+|\([^()]*\))"
    return re.sub(rf"/({factor}(?:\*{factor})*)", r"//(\1)", dim)


def _value(dim, symbols):
    return eval(_expression(dim), {"__builtins__": {}}, symbols)


def _solve(dim, extent, symbols):
    """Adds the one unknown symbol of `dim`, in which it is linear, so that `dim` is `extent`."""
    unknown = {name for name in _SYMBOL.findall(dim) if name not in symbols}
    if len(unknown) != 1 or "/" in dim:
        return
    name = unknown.pop()
    zero, one = _value(dim, symbols | {name: 0}), _value(dim, symbols | {name: 1})
    symbols[name] = (extent - zero) // (one - zero)


def _symbols(shapes, fixed):
    """The values of symbols from [(dimensions as text, extents)]."""
    symbols = dict(fixed)
    for _ in range(len(shapes) + 1):
        before = len(symbols)
        for dims, extents in shapes:
            for dim, extent in zip(dims, extents):
                _solve(dim, extent, symbols)
        if len(symbols) == before:
            return symbols
    return symbols


def operator(name, image, **given):
    """Defines the operator `name` ("namespace::name") and returns it. `given` binds symbols that no shape determines."""
    params = image.params
    inputs = [p for p in params if p[1] != "out"]
    outputs = [p for p in params if p[1] == "out"]
    known = _symbols([(dims, [2 ** 20] * len(dims)) for _, role, _, dims in inputs if role != "scalar"], given)
    for param, _, dtype, dims in outputs:
        lacking = [s for dim in dims for s in _SYMBOL.findall(dim) if s not in known]
        if lacking:
            raise coda.Error(f"{name}: no input's shape gives {lacking[0]}, which the output '{param}' needs; "
                             f"give it as {lacking[0]}=...")
        if dtype not in _TORCH_DTYPES:
            raise coda.Error(f"{name}: PyTorch has no type for {dtype}, the type of the output '{param}'")
    kernels = {}

    def allocate(arguments):
        shapes = [(dims, value.shape) for (_, role, _, dims), value in zip(inputs, arguments) if role != "scalar"]
        symbols = _symbols(shapes, given)
        device = next(value for value in arguments if isinstance(value, torch.Tensor)).device
        return [torch.empty([_value(dim, symbols) for dim in dims], dtype=_TORCH_DTYPES[dtype], device=device)
                for _, _, dtype, dims in outputs]

    def result(tensors):
        return tensors[0] if len(tensors) == 1 else tuple(tensors)

    def run(*arguments):
        tensors = allocate(arguments)
        device = tensors[0].device if tensors else arguments[0].device
        key = device.index if device.type == "cuda" else coda.HOST
        if key not in kernels:
            kernels[key] = image.prepare(key, **given)
        named = {p[0]: value for p, value in zip(inputs, arguments) if value is not None}
        kernels[key](**named, **{p[0]: tensor for p, tensor in zip(outputs, tensors)})
        return result(tensors)

    def text(index, param):
        param_name, role, dtype, _ = param
        if role != "scalar":
            return f"Tensor(a{index}!) {param_name}" if role == "inout" else f"Tensor {param_name}"
        kind = "float" if dtype in ("f32", "f16", "bf16") else "int"
        return f"{kind}? {param_name}=None" if image.has_default(param_name) else f"{kind} {param_name}"

    returns = ["Tensor"] * len(outputs)
    schema = f"({', '.join(text(i, p) for i, p in enumerate(inputs))}) -> "
    schema += returns[0] if len(returns) == 1 else f"({', '.join(returns)})"
    registry.define(name, schema)
    registry.impl(name, ("cpu", "cuda"), run)
    registry.register_fake(name, lambda *arguments: result(allocate(arguments)))
    namespace, short = name.split("::")
    return getattr(getattr(torch.ops, namespace), short)


def differentiable(name, forward, backward, **given):
    """The operator `name` with its gradient, from the images of NAME_fwd and NAME_bwd, which a `grad NAME wrt (...)` in the
    program's text makes. Call it as the program's block; what is saved for the backward is not returned."""
    fwd, bwd = operator(name + "_fwd", forward, **given), operator(name + "_bwd", backward, **given)
    taken = [p[0] for p in forward.params if p[1] != "out"]
    outputs = [p[0] for p in forward.params if p[1] == "out"]
    wanted = [p[0] for p in backward.params if p[1] != "out"]
    gradients = [p[0] for p in backward.params if p[1] == "out"]
    updated = [p[0] for p in forward.params + backward.params if p[1] == "inout"]
    if updated:
        raise coda.Error(f"{name}: '{updated[0]}' is updated in place, which PyTorch's autograd does not know")
    upstream = {output: outputs.index(output[2:]) for output in wanted if output.startswith("d_")}

    def setup(ctx, inputs, output):  # PyTorch calls it by these names
        values = dict(zip(taken, inputs)) | dict(zip(outputs, output if isinstance(output, tuple) else (output,)))
        ctx.scalars = {k: v for k, v in values.items() if k in wanted and not isinstance(v, torch.Tensor)}
        ctx.kept = [k for k in wanted if isinstance(values.get(k), torch.Tensor)]
        ctx.save_for_backward(*(values[k] for k in ctx.kept))

    def backward_of(ctx, *above):
        values = ctx.scalars | dict(zip(ctx.kept, ctx.saved_tensors)) | {k: above[i].contiguous() for k, i in upstream.items()}
        found = bwd(*(values[k] for k in wanted))
        found = dict(zip(gradients, found if isinstance(found, tuple) else (found,)))
        return tuple(found.get("d_" + k) for k in taken)

    registry.register_autograd(name + "_fwd", backward_of, setup_context=setup)
    returned = sum(not output.startswith("saved_") for output in outputs)

    def call(*arguments):
        result = fwd(*arguments)
        if not isinstance(result, tuple):
            return result
        return result[0] if returned == 1 else result[:returned]
    return call
