#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The training benchmark's other side: the same GPT in PyTorch, written the fast way.

    train_torch.py --data DIR --weights FILE [--model NAME] [--threads N] [--processes P] [--bf16]
                   [--steps S]

NAME is a row of train_models.py. Debian's python3-torch 1.13, python3-numpy and python3-h5py. One
fused projection for q, k and v, the mask added by the product of the scores, the multi-tensor
AdamW. Weights come from FILE (an HDF5 file of tensors under Model Zoo names; made from a seed and
written when it does not exist), batches from DIR (a Model Zoo dataset) in file order. With P
processes each computes an equal part of the batch, gradients are averaged by
DistributedDataParallel over gloo. Prints one JSON object: seconds, CPU seconds of this process,
loss and gradient norm of every step.
"""
import argparse
import glob
import json
import os
import time

import h5py
import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from train_models import MODELS

EPS = 1e-5
SMALL = MODELS["gpt_384"]  # of ddp.py and network.py


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        c = size.width
        self.heads = size.heads
        self.norm1, self.norm3 = nn.LayerNorm(c, eps=EPS), nn.LayerNorm(c, eps=EPS)
        self.qkv, self.out = nn.Linear(c, 3 * c), nn.Linear(c, c)
        self.ffn0, self.ffn1 = nn.Linear(c, 4 * c), nn.Linear(4 * c, c)

    def attention(self, x, mask):
        batch, tokens, width = x.shape
        heads, each = self.heads, width // self.heads
        qkv = self.qkv(x).view(batch, tokens, 3, heads, each).permute(2, 0, 3, 1, 4)
        q, k, v = (part.reshape(batch * heads, tokens, each) for part in qkv)
        scores = torch.baddbmm(mask.to(q.dtype), q, k.transpose(1, 2), alpha=each ** -0.5)
        mixed = torch.bmm(F.softmax(scores, dim=-1).to(v.dtype), v)
        mixed = mixed.view(batch, heads, tokens, each).transpose(1, 2)
        return self.out(mixed.reshape(batch, tokens, width))

    def forward(self, x, mask):
        x = x + self.attention(self.norm1(x), mask)
        return x + self.ffn1(F.gelu(self.ffn0(self.norm3(x))))


class Gpt(nn.Module):
    def __init__(self, size=SMALL):
        super().__init__()
        self.size = size
        self.tokens = nn.Embedding(size.vocab, size.width)
        self.positions = nn.Embedding(size.positions, size.width)
        self.blocks = nn.ModuleList(Block(size) for _ in range(size.layers))
        self.norm = nn.LayerNorm(size.width, eps=EPS)
        self.register_buffer("mask", torch.full((1, size.tokens, size.tokens),
                                                float("-inf")).triu(1))

    def forward(self, ids, labels):
        x = self.tokens(ids) + self.positions.weight[:self.size.tokens]
        for block in self.blocks:
            x = block(x, self.mask)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.float().view(-1, self.size.vocab), labels.reshape(-1))


def zoo_names(model):
    """Pairs of a Model Zoo name and the tensor, or the part of a tensor, that it names."""
    decoder, c = "model.transformer_decoder.", model.size.width
    yield "model.embedding_layer.word_embeddings.weight", model.tokens.weight
    yield "model.embedding_layer.position_embeddings.embed.weight", model.positions.weight
    for kind in ("weight", "bias"):
        yield decoder + "norm." + kind, getattr(model.norm, kind)
        for i, block in enumerate(model.blocks):
            name = f"{decoder}layers.{i}."
            for j, part in enumerate("qkv"):
                whole = getattr(block.qkv, kind)
                yield f"{name}self_attn.proj_{part}_dense_layer.{kind}", whole[j * c:(j + 1) * c]
            yield f"{name}self_attn.proj_output_dense_layer.{kind}", getattr(block.out, kind)
            yield f"{name}norm1.{kind}", getattr(block.norm1, kind)
            yield f"{name}norm3.{kind}", getattr(block.norm3, kind)
            yield f"{name}ffn.ffn.0.linear_layer.{kind}", getattr(block.ffn0, kind)
            yield f"{name}ffn.ffn.1.linear_layer.{kind}", getattr(block.ffn1, kind)


def write_weights(path, size=SMALL):
    torch.manual_seed(1)
    model = Gpt(size)
    with torch.no_grad(), h5py.File(path + ".tmp", "w") as file:
        for name, tensor in zoo_names(model):
            if tensor.dim() == 2:
                tensor.normal_(std=0.02)
            elif "norm" not in name:
                tensor.normal_(std=0.01)  # biases take part in the comparison
            file[name] = tensor.numpy()
    os.replace(path + ".tmp", path)


def read_weights(model, path):
    with torch.no_grad(), h5py.File(path, "r") as file:
        for name, tensor in zoo_names(model):
            tensor.copy_(torch.from_numpy(file[name][...]))


def read_samples(folder, n):
    parts, have = [], 0
    for path in sorted(glob.glob(os.path.join(folder, "*.h5"))):
        with h5py.File(path, "r") as file:
            parts.append(file["data"][:n - have])
        have += len(parts[-1])
        if have == n:
            break
    samples = np.concatenate(parts).astype(np.int64)
    if n % len(samples) == 0:  # again from the first one, as `wsc` does
        samples = np.tile(samples, (n // len(samples), 1, 1))
    assert len(samples) == n, f"{folder}: {len(samples)} samples, {n} are needed"
    return torch.from_numpy(samples[:, 0]), torch.from_numpy(samples[:, 2])


def optimizer_of(model):
    decayed = [p for p in model.parameters() if p.dim() == 2]
    others = [p for p in model.parameters() if p.dim() != 2]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=3e-4, betas=(0.9, 0.95), eps=1e-8, foreach=True)


def train(rank, args):
    torch.set_num_threads(args.threads)
    size = MODELS[args.model]
    model = Gpt(size)
    read_weights(model, args.weights)
    optimizer = optimizer_of(model)
    parameters = list(model.parameters())
    step_of = model
    if args.processes > 1:
        step_of = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    ids, labels = read_samples(args.data, args.steps * size.batch)
    share = size.batch // args.processes
    result = {"seconds": [], "cpu_seconds": [], "loss": [], "grad_norm": []}
    for step in range(args.steps):
        first = step * size.batch + rank * share
        start, cpu = time.perf_counter(), time.process_time()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.bf16):
            loss = step_of(ids[first:first + share], labels[first:first + share])
        loss.backward()
        norm = nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=args.processes == 1)
        result["loss"].append(loss.item())
        result["seconds"].append(time.perf_counter() - start)
        result["cpu_seconds"].append(time.process_time() - cpu)
        result["grad_norm"].append(norm.item())
    return result


def mean_over_processes(values):
    total = torch.tensor(values, dtype=torch.float64)
    dist.all_reduce(total)
    return (total / dist.get_world_size()).tolist()


def blas():
    """The library of this process's matrix products."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        files = {line.split()[-1] for line in maps if "blas" in line.lower()}
    return " ".join(sorted(files))


def run(rank, args):
    if args.processes == 1:
        print(json.dumps(dict(train(rank, args), blas=blas())), flush=True)
        return
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank % os.cpu_count()]})
    dist.init_process_group("gloo", init_method="file://" + args.rendezvous, rank=rank,
                            world_size=args.processes)
    result = train(rank, args)
    result["loss"] = mean_over_processes(result["loss"])
    if rank == 0:
        print(json.dumps(result), flush=True)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--weights", required=True)
    parser.add_argument("--model", choices=sorted(MODELS), default="gpt_384")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--bf16", action="store_true")
    args = parser.parse_args()
    if not os.path.exists(args.weights):
        write_weights(args.weights, MODELS[args.model])
    if args.processes == 1:
        run(0, args)
        return
    args.rendezvous = f"{os.path.abspath(args.weights)}.meet.{os.getpid()}"
    torch.multiprocessing.spawn(run, (args,), nprocs=args.processes)
    if os.path.exists(args.rendezvous):
        os.remove(args.rendezvous)


if __name__ == "__main__":
    main()
