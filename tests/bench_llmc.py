#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The training benchmark beside a stand-in for llm.c, on a tiny GPT:  bench_llmc.py WSC DIR

The stand-in reads weights and tokens as llm.c does, from the files that benchmarks/train_llmc.py
writes, and computes GPT-2's loss with numpy; it must be that of `wsc run` from the same weights.
Nothing here needs PyTorch or llm.c.  (bench_llmc.py --stand-in is the stand-in.)
"""
import argparse
import os
import stat
import sys
import time

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}; hint: apt-get install python3-h5py")
    sys.exit(0)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "benchmarks"))
# pylint: disable=wrong-import-position
import train  # noqa: E402
import train_llmc  # noqa: E402
import train_models  # noqa: E402

TINY = train_models.Model(
    "configs/params/gpt2_small.yaml", batch=4, tokens=16, vocab=61, positions=16, width=32,
    layers=2, heads=4, leaf=4, steps=2, warm_up=1, wafers=(1,), kinds=("fp32",), other_leaf=0,
    synthetic=True, memory_gib=0.01,
    settings=("train_input.batch_size=4", "train_input.shuffle=false", "model.vocab_size=61",
              "model.hidden_size=32", "model.num_hidden_layers=2", "model.num_heads=4",
              "model.filter_size=128", "model.max_position_embeddings=16",
              "runconfig.checkpoint_steps=0"))


# ---- the stand-in --------------------------------------------------------------------------------

def read(path, magic, version, kind):
    with open(path, "rb") as file:
        head = np.fromfile(file, np.int32, 256)
        assert tuple(head[:2]) == (magic, version), head[:2]
        return head, np.fromfile(file, kind)


def norm(x, weight, bias):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight + bias


def attention(qkv, heads):
    batch, tokens, width = qkv.shape[0], qkv.shape[1], qkv.shape[2] // 3
    q, k, v = (x.reshape(batch, tokens, heads, -1).transpose(0, 2, 1, 3)
               for x in np.split(qkv, 3, axis=2))
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(width // heads)
    scores = np.where(np.tril(np.ones((tokens, tokens))), np.exp(scores), 0)
    mixed = scores / scores.sum(-1, keepdims=True) @ v
    return mixed.transpose(0, 2, 1, 3).reshape(batch, tokens, width)


def loss_of(head, flat, ids, labels):
    """GPT-2 with llm.c's 16 tensors one behind the other."""
    positions, vocab, layers, heads, c, padded = head[2:8]
    shapes = [(padded, c), (positions, c), (layers, c), (layers, c), (layers, 3 * c, c),
              (layers, 3 * c), (layers, c, c), (layers, c), (layers, c), (layers, c),
              (layers, 4 * c, c), (layers, 4 * c), (layers, c, 4 * c), (layers, c), (c,), (c,)]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    assert ends[-1] == len(flat), (ends[-1], len(flat))
    t = [x.reshape(s) for x, s in zip(np.split(flat.astype(float), ends[:-1]), shapes)]
    x = t[0][ids] + t[1][:ids.shape[1]]
    for i in range(layers):
        qkv = norm(x, t[2][i], t[3][i]) @ t[4][i].T + t[5][i]
        x = x + attention(qkv, heads) @ t[6][i].T + t[7][i]
        h = norm(x, t[8][i], t[9][i]) @ t[10][i].T + t[11][i]
        h = h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h ** 3))) / 2
        x = x + h @ t[12][i].T + t[13][i]
    logits = (norm(x, t[14], t[15]) @ t[0].T)[..., :vocab]
    chosen = np.take_along_axis(logits, labels[..., None], -1)[..., 0]
    return (np.log(np.exp(logits).sum(-1)) - chosen).mean()


def stand_in():
    head, flat = read("gpt2_124M.bin", 20240326, 3, np.float32)
    folder = "dev/data/tinyshakespeare/tiny_shakespeare_"
    tokens_head, tokens = read(folder + "train.bin", 20240520, 1, np.uint16)
    assert tokens_head[2] == len(tokens) == TINY.batch_tokens + 1
    shape = (TINY.batch, TINY.tokens)
    ids, labels = (part.astype(int).reshape(shape) for part in (tokens[:-1], tokens[1:]))
    loss = loss_of(head, flat, ids, labels)
    print("[GPT-2]\nval loss", loss)
    began = time.process_time()
    for step in range(41):
        print(f"step {step}: train loss {loss:.6f} (took {250 + step:f} ms)", flush=True)
        while time.process_time() < 0.05 * (step + 1) + began:
            pass  # CPU seconds are counted in ticks


# ---- the test ------------------------------------------------------------------------------------

def write_weights(path):
    """Under the Model Zoo names that train_torch.py writes."""
    random = np.random.default_rng(2)
    decoder, c = "model.transformer_decoder.", TINY.width
    shapes = {"model.embedding_layer.word_embeddings.weight": (TINY.vocab, c),
              "model.embedding_layer.position_embeddings.embed.weight": (TINY.positions, c)}
    linear = {f"self_attn.proj_{x}_dense_layer": (c, c) for x in ("q", "k", "v", "output")}
    linear.update({"ffn.ffn.0.linear_layer": (4 * c, c), "ffn.ffn.1.linear_layer": (c, 4 * c)})
    for i in range(TINY.layers):
        for name, shape in linear.items():
            shapes[f"{decoder}layers.{i}.{name}.weight"] = shape
            shapes[f"{decoder}layers.{i}.{name}.bias"] = shape[:1]
    norms = [f"{decoder}layers.{i}.norm{k}." for i in range(TINY.layers) for k in (1, 3)]
    for name in norms + [decoder + "norm."]:
        shapes[name + "weight"] = shapes[name + "bias"] = (c,)
    with h5py.File(path, "w") as file:
        for name, shape in shapes.items():
            values = random.normal(0, 0.1, shape)
            if "norm" in name and name.endswith("weight"):
                values += 1
            file[name] = values.astype(np.float32)


def checkout(folder, tokens):
    """Source and program as a checkout of llm.c has them."""
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, "train_gpt2")
    with open(program + ".c", "w", encoding="utf-8") as file:
        file.write(f"    int B = 4; // batch size\n    int T = {tokens}; // sequence length\n")
    with open(program, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec {sys.executable} {os.path.abspath(__file__)} --stand-in\n')
    os.chmod(program, stat.S_IRWXU)
    return folder


def main():
    wsc, folder = sys.argv[1:]
    train_models.MODELS["tiny"] = TINY
    os.makedirs(folder, exist_ok=True)
    args = argparse.Namespace(wsc=os.path.abspath(wsc), dir=os.path.abspath(folder), model="tiny",
                              llmc=checkout(os.path.join(folder, "llmc"), TINY.tokens), seconds=60)
    bench = train.Bench(args)
    write_weights(bench.weights)
    ours = bench.run_wsc(("fp32", 1, 1), 1)
    assert ours["peak_gib"] > 0.001
    assert bench.verify_llmc(ours)["valid"], ours
    assert not bench.verify_llmc(dict(ours, loss=ours["loss"] + 0.002))["valid"]
    result = bench.run_llmc(("fp32", 1, 1), 3)
    assert abs(result["tokens_per_s"] - TINY.batch_tokens / 0.2515) < 0.01, result
    args.llmc = checkout(os.path.join(folder, "other"), 1024)
    assert bench.verify_llmc(ours) is None and bench.llmc is None
    args.llmc = os.path.join(folder, "none")
    assert bench.verify_llmc(ours) is None
    try:
        train.need_memory("llm.c", 1e9)
        raise AssertionError("a program that does not fit is started")
    except train.RunFailed as failure:
        print(failure)
    big = train_models.MODELS["gpt2_small_1024"]
    args.llmc = checkout(os.path.join(folder, "big"), big.tokens)
    needed = train_llmc.Llmc(args.llmc, big, folder).bytes_needed()
    print(f"GPT-2 small, T 1024: llm.c needs {needed / 2**30:.1f} GiB")


if __name__ == "__main__":
    if sys.argv[1:] == ["--stand-in"]:
        stand_in()
    else:
        main()
