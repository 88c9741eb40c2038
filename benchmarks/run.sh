#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All benchmarks of one host, one table, BUILD/benchmarks/results.json, and that beside the last
# committed file of benchmarks/results:  sh benchmarks/run.sh BUILD
#
#   BENCH_MINUTES  for all of it (5); common.sh has this and BENCH_PROGRESS_SECONDS
#   ROUNDS   most rounds of every training case (5)
#   STEPS    steps of every training run (10; the first 3 warm up)
#   WAIT     most seconds to wait for an idle machine before a training run (30)
#   MESH_ROUNDS  rounds of every mesh case (3)
#   CASES    one training case, as train.py names it (all)
set -eu
build=${1:?usage: sh benchmarks/run.sh BUILD}
here=$(dirname "$0")
# shellcheck source=benchmarks/common.sh
. "$here/common.sh"
parts='sgemm simulate mesh train sparse sparse_step'

has_torch() { /usr/bin/python3 -c 'import torch, h5py' 2>/dev/null; }

need_built "$wsc" "$out/sgemm_peak" "$out/simulate" "$out/sparse_products" "$out/mesh_speed"
begin_parts 6 5
# shellcheck disable=SC2086 # a list
drop_results $parts
echo "== products"
part products "$out/sgemm_peak" "$(nproc)" "$out/sgemm.json"
echo "== training: GPT of 6 layers, width 384, batch 8 x 256 tokens"
if [ "$(left)" -eq 0 ] || has_torch; then # a part without time says so itself
    [ "$(left)" -eq 0 ] || make_data
    # Six tenths of what is left: the other parts take turns for as long as they may.
    part training /usr/bin/python3 "$here/train.py" --wsc "$wsc" --dir "$out" --peak "$out/sgemm.json" \
        --seconds "$(($(left) * 6 / 10))" --rounds "${ROUNDS:-5}" --steps "${STEPS:-10}" \
        --wait "${WAIT:-30}" ${CASES:+--case "$CASES"}
else
    echo "python3-torch and python3-h5py are not installed: nothing to compare with"
fi
echo "== simulation"
part simulation "$out/simulate" "$here/../configs/params" "$out/simulate.json"
echo "== sparse products"
part "sparse products" "$out/sparse_products" "$out/sparse.json"
echo "== mesh"
part mesh "$out/mesh_speed" "${MESH_ROUNDS:-3}" "$out/mesh.json"
echo "== sparse training steps: GPT of 6 layers, width 1024, batch 8 x 256 tokens"
[ "$(left)" -eq 0 ] || make_data
part "sparse steps" sh "$here/sparse_step.sh" "$build" "$out/data/train" "$out/sparse_step.json"
# shellcheck disable=SC2086 # a list
write_results results.json host $parts
