# SPDX-License-Identifier: Apache-2.0
"""The models of the training benchmark: a row of MODELS for each model and length of sequences.

train.py reads what `wsc` needs (params file and --set), train_torch.py builds the PyTorch model
from the sizes of the row.  A new model is a new row.
"""
import os
from dataclasses import dataclass

import h5py
import numpy as np


@dataclass(frozen=True)
class Model:
    params: str        # params file, below the repository
    batch: int         # sequences of a step
    tokens: int        # of a sequence
    vocab: int
    positions: int     # rows of the position table
    width: int
    layers: int
    heads: int
    leaf: int          # reduction_leaf of the runs of `wsc`: samples of a micro-shard
    steps: int         # of a run, without --steps
    warm_up: int       # first steps of a run that do not count
    wafers: tuple      # numbers of wafers, or of processes of PyTorch, that are measured
    kinds: tuple       # number formats that are measured
    other_leaf: int    # a second reduction_leaf that is measured; 0: none
    synthetic: bool    # the script makes the tokens
    memory_gib: float  # that must be available before a program starts (estimated)
    settings: tuple = ()  # --set of `wsc` beyond the params file

    @property
    def batch_tokens(self):
        return self.batch * self.tokens

    @property
    def flop_per_token(self):
        """Products of a training step; of attention what causality lets through."""
        matrices = self.layers * 12 * self.width ** 2 + self.vocab * self.width
        return 6 * matrices + 6 * self.layers * self.tokens * self.width

    def stream(self):
        """The synthetic tokens of a batch, one behind the other, and the label of the last."""
        return np.random.default_rng(1).integers(self.vocab, size=self.batch_tokens + 1)


def write_tokens(model, folder):
    """A Model Zoo dataset of one batch: the stream of model.stream(), cut into its sequences.
    Every step takes it, as llm.c does with a file of one batch."""
    stream, shape = model.stream(), (model.batch, model.tokens)
    data = np.ones((model.batch, 3, model.tokens), dtype=np.int32)  # ids, loss mask, labels
    data[:, 0], data[:, 2] = stream[:-1].reshape(shape), stream[1:].reshape(shape)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "synthetic.h5")
    with h5py.File(path + ".tmp", "w") as file:
        file["data"] = data
        file.attrs["n_examples"] = model.batch
    os.replace(path + ".tmp", path)


def gpt2_small(tokens, steps, warm_up, memory_gib):
    """GPT-2 small, 124 M parameters in its published sizes; as many positions as tokens, since
    `wsc` wants sequences of full length."""
    return Model("configs/params/gpt2_small.yaml", 4, tokens, 50257, tokens, 768, 12, 12, leaf=4,
                 steps=steps, warm_up=warm_up, wafers=(1,), kinds=("fp32",), other_leaf=0,
                 synthetic=True, memory_gib=memory_gib,
                 settings=("train_input.batch_size=4", "train_input.shuffle=false",
                           f"model.max_position_embeddings={tokens}",
                           "optimizer.learning_rate=3.0e-4",
                           "runconfig.checkpoint_steps=0"))


MODELS = {
    "gpt_384": Model("benchmarks/train_384.yaml", 8, 256, 256, 256, 384, 6, 6, leaf=1, steps=10,
                     warm_up=3, wafers=(1, 2), kinds=("fp32", "bf16"), other_leaf=4,
                     synthetic=False, memory_gib=1),
    "gpt2_small_64": gpt2_small(64, steps=4, warm_up=1, memory_gib=4),
    "gpt2_small_1024": gpt2_small(1024, steps=2, warm_up=1, memory_gib=12),
}
