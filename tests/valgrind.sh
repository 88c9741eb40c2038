#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: tests/valgrind.sh PROGRAM
# A dataset, a folded run and one on two ranks under valgrind: no wrong access, no use of a value
# that was never set, no block lost.  What Open MPI and its libraries do is suppressed.
set -eu
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Neither PMIx nor oneDNN come with a list; ours names them by their libraries.
mpi=$(dirname "$(command -v mpirun)")/../share/openmpi/openmpi-valgrind.supp
check="valgrind -q --child-silent-after-fork=yes --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite
    --show-leak-kinds=definite --suppressions=tests/lint/valgrind.supp"
[ -r "$mpi" ] && check="$check --suppressions=$mpi"

i=0
while [ $i -lt 400 ]; do
    echo "the cat sat on a red mat number $i"
    i=$((i + 1))
done >"$folder/text.txt"

run="run --params configs/params/tiny.yaml --num_csx 2 --num_steps 2
    --set train_input.data_dir=$folder/data/train --set eval_input.data_dir=$folder/data/val
    --set runconfig.checkpoint_steps=2"
# shellcheck disable=SC2086 # lists of words
{
    $check "$program" data --input "$folder/text.txt" --out "$folder/data" --max_seq_length 64 \
        --split 0.1
    $check "$program" $run --model_dir "$folder/folded"
    mpirun --quiet -np 2 $check "$program" $run --model_dir "$folder/ranks"
    $check "$program" inspect "$folder/ranks/checkpoint_2.mdl"
}
echo "valgrind: clean"
