# SPDX-License-Identifier: Apache-2.0
"""Load checkpoints into optimizers of PyTorch, make one step, compare with the next checkpoints.

usage: torch_optimizers.py {OPTIMIZER FOLDER}...      exit status 3: a Python package is missing

A folder has run/checkpoint_2.mdl, gradients.mdl of the next step, and next/checkpoint_3.mdl.
"""
import json
import sys

try:
    import h5py
    import torch
except ImportError as missing:
    print(f"skipped: the Python package {missing.name} is not installed", file=sys.stderr)
    sys.exit(3)

LAYERS = 2
NEAR = 1e-4  # of the largest change of a tensor
NEAR_OLD_NADAM = 1e-2  # before 2.0 PyTorch multiplies the product of momenta twice in a step
ROUNDING = 3e-7
NO_GRADIENT = "proj_k_dense_layer.bias"  # softmax subtracts it: zero up to rounding
SCALARS = {"step", "mu_product", "eta", "mu"}


def parameters():
    """Names of tiny.yaml's parameters in the order in which the Model Zoo's class has them."""
    yield "embedding_layer.word_embeddings.weight"
    yield "embedding_layer.position_embeddings.embed.weight"
    modules = ["ln_f"]
    for layer in range(LAYERS):
        for part in ("self_attn.proj_q_dense_layer", "self_attn.proj_k_dense_layer",
                     "self_attn.proj_v_dense_layer", "self_attn.proj_output_dense_layer",
                     "norm1", "norm3", "ffn.ffn.0.linear_layer", "ffn.ffn.1.linear_layer"):
            modules.append(f"transformer_decoder.layers.{layer}.{part}")
    for module in modules:
        yield from (f"{module}.weight", f"{module}.bias")


def decays(name):
    return not ("bias" in name or "norm" in name or "ln_f" in name)


def tensor(file, name):
    names = ["model." + name]
    names.append(names[0].replace("ln_f", "transformer_decoder.norm"))
    return torch.from_numpy(next(file[n] for n in names if n in file)[()])


def as_lists(node):
    """Dicts whose keys are 0 to n - 1 are lists."""
    if not isinstance(node, dict):
        return node
    below = {key: as_lists(value) for key, value in node.items()}
    numbers = [str(i) for i in range(len(below))]
    return [below[i] for i in numbers] if sorted(below) == sorted(numbers) else below


def optimizer_of(file):
    """The state dict of the optimizer."""
    tree, tail = {}, ".__metadata__"
    for key in (k for k in file.attrs if k.startswith("optimizer.") and k.endswith(tail)):
        meta = json.loads(file.attrs[key])[key]
        name = key[:-len(tail)]
        *path, last = name.split(".")[1:]
        node = tree
        for part in path:
            node = node.setdefault(part, {})
        number = meta["__TYPE__"] == "ScalarSerializer"
        node[last] = meta["scalar_value"] if number else torch.as_tensor(file[name][()])
    groups = as_lists(tree["param_groups"])
    state = {int(i): values for i, values in tree.get("state", {}).items()}
    return {"state": state, "param_groups": groups}


def differences(kind, folder):
    """Weights and scalar states after PyTorch's step that are not those of the program."""
    old = kind == "NAdam" and int(torch.__version__.split(".")[0]) < 2
    near = NEAR_OLD_NADAM if old else NEAR
    with h5py.File(f"{folder}/run/checkpoint_2.mdl") as file, \
            h5py.File(f"{folder}/gradients.mdl") as grads, \
            h5py.File(f"{folder}/next/checkpoint_3.mdl") as result:
        names = [[n for n in parameters() if decays(n) == decayed] for decayed in (True, False)]
        held = {n: torch.nn.Parameter(tensor(file, n)) for n in sum(names, [])}
        groups = [{"params": [held[n] for n in group]} for group in names]
        optimizer = getattr(torch.optim, kind)(groups, lr=1.0)
        optimizer.load_state_dict(optimizer_of(file))
        for name, parameter in held.items():
            parameter.grad = tensor(grads, name)
        optimizer.step()
        following = optimizer_of(result)
        labels = sum((group["params"] for group in following["param_groups"]), [])
        for (name, parameter), label in zip(held.items(), labels):
            expected = tensor(result, name)
            change = (expected - tensor(file, name)).abs().max()
            difference = (expected - parameter.detach()).abs().max()
            if NO_GRADIENT not in name and not difference <= near * change + ROUNDING:
                yield f"{name}: {difference:g} of {change:g}"
            for key in SCALARS & set(optimizer.state[parameter]):
                value, ours = float(optimizer.state[parameter][key]), following["state"][label][key]
                if not abs(value - ours) <= 1e-6 * abs(value):
                    yield f"{name}: {key} is {ours}, not {value}"


def main():
    wrong = [f"{kind} {folder}: {line}" for kind, folder in zip(sys.argv[1::2], sys.argv[2::2])
             for line in differences(kind, folder)]
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


main()
