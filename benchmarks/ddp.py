#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One process of PyTorch's DDP over gloo, with which network.py and scaling.py compare `wsc`.

    ddp.py --rank R --world N --address ADDRESS --data DIR --weights FILE [--batch 8] [--steps 9]
           [--bf16]

The model, the weights, the samples and the optimizer of train_torch.py on one thread, in fp32 or
under autocast to bfloat16, with gradients in fp32; each of the N processes, one on each host,
computes its part of --batch sequences and all average their gradients.  ADDRESS is that of the host
of rank 0, whose process prints one JSON object: seconds and mean loss of every step.
"""
import argparse
import json
import time

import torch
import torch.distributed as dist
from torch import nn

import train_torch


def train(args):
    torch.set_num_threads(1)
    model = train_torch.Gpt()
    train_torch.read_weights(model, args.weights)
    optimizer = train_torch.optimizer_of(model)
    parallel = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    ids, labels = train_torch.read_samples(args.data, args.steps * args.batch)
    share = args.batch // args.world
    result = {"seconds": [], "loss": []}
    for step in range(args.steps):
        first = step * args.batch + args.rank * share
        start = time.perf_counter()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.bf16):
            loss = parallel(ids[first:first + share], labels[first:first + share])
        loss.backward()
        nn.utils.clip_grad_norm_(list(model.parameters()), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        result["seconds"].append(time.perf_counter() - start)
        result["loss"].append(loss.item())
    losses = torch.tensor(result["loss"], dtype=torch.float64)
    dist.all_reduce(losses)
    result["loss"] = (losses / args.world).tolist()
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--world", type=int, required=True)
    parser.add_argument("--address", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--weights", required=True)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=9)
    parser.add_argument("--bf16", action="store_true")
    args = parser.parse_args()
    if args.batch % args.world:
        parser.error("--batch: divides by --world")
    dist.init_process_group("gloo", init_method=f"tcp://{args.address}:29501", rank=args.rank,
                            world_size=args.world)
    result = train(args)
    if args.rank == 0:
        print(json.dumps(result), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
