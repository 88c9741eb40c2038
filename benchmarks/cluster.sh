#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How the program does on several ranks and hosts, in at most about ten minutes on two idle cores:
#
#     sh benchmarks/cluster.sh PROGRAM DIR [ANOTHER PROGRAM]
#
# network.py: two hosts at 0.5, 1 and 2 Gbit/s, the wafer on one thread and on two, and a SwarmX node
# between two wafers on three hosts; each step beside its bound, and where as many processors compute
# beside PyTorch's DDP over gloo, if PyTorch is installed, measured in the same round.  ranks.py: one
# run folded, on 2 and on 17 ranks, and beside a busy neighbour.  Another program is measured in the
# same rounds.  Needs root.
set -eu
wsc=${1:?usage: sh benchmarks/cluster.sh PROGRAM DIR [ANOTHER PROGRAM]}
dir=${2:?usage: sh benchmarks/cluster.sh PROGRAM DIR [ANOTHER PROGRAM]}
another=${3:+--wsc $3}
here=$(dirname "$0")
ddp=
if /usr/bin/python3 -c 'import torch, h5py' 2>/dev/null; then ddp=--ddp; fi
mkdir -p "$dir"
if [ ! -d "$dir/data/train" ]; then
    cat "$here"/../src/*/*.c > "$dir/text.txt"
    "$wsc" data --input "$dir/text.txt" --out "$dir/data" --max_seq_length 256
fi
echo "== two hosts"
# shellcheck disable=SC2086
/usr/bin/python3 "$here/network.py" --wsc "$wsc" $another --dir "$dir" --rates 0.5,1,2 --rounds 3 --steps 7
mv "$dir/network.json" "$dir/two_hosts.json"
echo "== two hosts, the wafer on two threads"
# shellcheck disable=SC2086
/usr/bin/python3 "$here/network.py" --wsc "$wsc" $another --dir "$dir" --rates 0.5,1,2 --rounds 3 --steps 7 --threads 2 $ddp
mv "$dir/network.json" "$dir/two_threads.json"
echo "== a SwarmX node between two wafers, three hosts"
# shellcheck disable=SC2086
/usr/bin/python3 "$here/network.py" --wsc "$wsc" $another --dir "$dir" --rates 0.5,1 --rounds 3 --steps 6 --wafers 2 $ddp
mv "$dir/network.json" "$dir/three_hosts.json"
echo "== ranks on one host"
# shellcheck disable=SC2086
exec /usr/bin/python3 "$here/ranks.py" --wsc "$wsc" $another --dir "$dir"
