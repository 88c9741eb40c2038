# SPDX-License-Identifier: Apache-2.0
"""llm.c's CPU program for train.py: weights and tokens in its file formats, runs, and their times.

The checkout is the user's: DIR/train_gpt2.c and the program DIR/train_gpt2 made from it (`make
train_gpt2`, or gcc -Ofast -march=native -fopenmp -DOMP).  The program has batch and sequence length
as constants and its files by fixed names below the folder it runs in, so it runs in a folder of
train.py with

    gpt2_124M.bin       256 int32 (magic 20240326, version 3, positions, vocabulary, layers, heads,
                        width, padded vocabulary), then all tensors in fp32, each over all layers
    dev/data/tinyshakespeare/tiny_shakespeare_{train,val}.bin
                        256 int32 (magic 20240520, version 1, number of tokens), then uint16

The files of tokens hold one batch, so every step takes it, in whatever order the program shuffles.
A run is ended after the step that was asked for, at most the tenth: then it would validate again.
"""
import os
import re
import subprocess

import h5py
import numpy as np

MODEL_MAGIC, MODEL_VERSION, TOKEN_MAGIC, TOKEN_VERSION = 20240326, 3, 20240520, 1
PADDED = 128    # the vocabulary is padded to a multiple
MOST_STEPS = 10  # before it validates again
STEP = re.compile(r"step (\d+): train loss (\S+) \(took (\S+) ms\)")


class LeftOut(Exception):
    """Why llm.c is not measured."""


def header(*numbers):
    return np.array(numbers + (0,) * (256 - len(numbers)), dtype=np.int32)


def tensors(file, model):
    """All weights in llm.c's order; h5py's file has Model Zoo names."""
    decoder = "model.transformer_decoder."

    def layers(*names):
        parts = [[file[f"{decoder}layers.{i}.{name}"][...] for name in names]
                 for i in range(model.layers)]
        return np.stack([np.concatenate(part) for part in parts])

    tokens = file["model.embedding_layer.word_embeddings.weight"][...]
    yield np.pad(tokens, ((0, -len(tokens) % PADDED), (0, 0)))
    yield file["model.embedding_layer.position_embeddings.embed.weight"][...]
    qkv = [f"self_attn.proj_{part}_dense_layer." for part in "qkv"]
    for names in (["norm1."], qkv, ["self_attn.proj_output_dense_layer."], ["norm3."],
                  ["ffn.ffn.0.linear_layer."], ["ffn.ffn.1.linear_layer."]):
        for kind in ("weight", "bias"):
            yield layers(*(name + kind for name in names))
    for kind in ("weight", "bias"):
        yield file[f"{decoder}norm.{kind}"][...]


def write_weights(path, weights, model):
    padded = model.vocab + -model.vocab % PADDED
    with h5py.File(weights, "r") as file, open(path, "wb") as out:
        header(MODEL_MAGIC, MODEL_VERSION, model.positions, model.vocab, model.layers, model.heads,
               model.width, padded).tofile(out)
        for tensor in tensors(file, model):
            np.ascontiguousarray(tensor, dtype=np.float32).tofile(out)


def write_stream(path, stream):
    with open(path, "wb") as out:
        header(TOKEN_MAGIC, TOKEN_VERSION, len(stream)).tofile(out)
        stream.astype(np.uint16).tofile(out)


class Llmc:
    def __init__(self, checkout, model, folder):
        """LeftOut unless the program in @p checkout was made for @p model's batch and tokens."""
        self.model, self.folder = model, folder
        self.program = os.path.abspath(os.path.join(checkout, "train_gpt2"))
        source = self.program + ".c"
        for path in (self.program, source):
            if not os.path.exists(path):
                raise LeftOut(f"{path} does not exist")
        with open(source, encoding="utf-8") as text:
            found = dict(re.findall(r"^ *int ([BT]) = (\d+);", text.read(), re.MULTILINE))
        if found != {"B": str(model.batch), "T": str(model.tokens)}:
            raise LeftOut(f"{source} has B {found.get('B')}, T {found.get('T')}, the model "
                          f"B {model.batch}, T {model.tokens}: change them and build it again")
        if os.path.getmtime(source) > os.path.getmtime(self.program):
            raise LeftOut(f"{source} is newer than the program: build it again")

    def bytes_needed(self):
        """Weights, gradients and moments; activations and their gradients: all kept, in fp32."""
        m = self.model
        padded = m.vocab + -m.vocab % PADDED
        weights = m.layers * 12 * m.width ** 2 + (padded + m.positions) * m.width
        activations = m.batch_tokens * (m.layers * (16 * m.width + 2 * m.heads * m.tokens)
                                        + 2 * m.width + 2 * padded)
        return 4 * (4 * weights + 2 * activations)

    def write_files(self, weights):
        data = os.path.join(self.folder, "dev/data/tinyshakespeare")
        os.makedirs(data, exist_ok=True)
        write_weights(os.path.join(self.folder, "gpt2_124M.bin"), weights, self.model)
        for part in ("train", "val"):
            write_stream(os.path.join(data, f"tiny_shakespeare_{part}.bin"), self.model.stream())

    def run(self, steps, env):
        """Losses and seconds of the first steps, CPU seconds of each and of all, peak bytes."""
        if steps > MOST_STEPS:
            raise LeftOut(f"at most {MOST_STEPS} steps of it are measured")
        result = {"loss": [], "seconds": [], "cpu_seconds": []}
        with subprocess.Popen(["stdbuf", "-oL", self.program], cwd=self.folder, env=env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            said, cpu = [], 0.0
            for line in process.stdout:
                said.append(line.rstrip())
                found = STEP.search(line)
                if not found:
                    continue
                before, cpu = cpu, cpu_seconds_of(process.pid)
                result["loss"].append(float(found[2]))
                result["seconds"].append(float(found[3]) / 1e3)
                result["cpu_seconds"].append(cpu - before)
                if len(result["loss"]) == steps:
                    break
            process.kill()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if len(result["loss"]) < steps:
            raise LeftOut(f"{self.program} ended with status {process.returncode} after "
                          f"{len(result['loss'])} of {steps} steps: {' / '.join(said[-3:])}")
        return dict(result, cpu=usage.ru_utime + usage.ru_stime, peak=usage.ru_maxrss << 10)


def cpu_seconds_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
