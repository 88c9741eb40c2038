#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CPU time of simulated steps against stages x systems, and its picture (docs/SCALING.md, "Cost of a
# simulation"):  sh benchmarks/simulation_cost.sh BUILD [PICTURE]
#
# Runs BUILD/benchmarks/simulation_cost, which verifies its message counts first, and draws PICTURE
# (docs/simulation_cost.png) with gnuplot from BUILD/benchmarks/simulation_cost.dat, beside which it
# leaves simulation_cost.json.
#
#   ROUNDS   measurements of each point, of which the median counts (3)
#   DRAW     not empty: draws the .dat of an earlier run again
set -eu
build=${1:?usage: sh benchmarks/simulation_cost.sh BUILD [PICTURE]}
here=$(dirname "$0")
picture=${2:-$here/../docs/simulation_cost.png}
data=$build/benchmarks/simulation_cost.dat

if [ -z "${DRAW:-}" ]; then
    # One thread: from 512 systems on a simulation would run on several, which wait for each other.
    OMP_NUM_THREADS=1 "$build/benchmarks/simulation_cost" "$here/../configs/params" \
        "$build/benchmarks/simulation_cost.json" "${ROUNDS:-3}" >"$data.tmp"
    mv "$data.tmp" "$data"
fi
tail -n 1 "$data"
command -v gnuplot >/dev/null || {
    echo "simulation_cost.sh: gnuplot is not installed: no picture; hint: apt-get install gnuplot-nox" >&2
    exit 1
}
# Columns: streamed layers stages systems links messages steps cpu_s_of_step cpu_us_of_message.
gnuplot -e "data = '$data'; picture = '$picture'" - <<'END'
set terminal pngcairo size 760,480 font 'sans,11'
set output picture
stats data using (log10($3 * $4)):(log10($8)) nooutput
line(x) = 10 ** STATS_intercept * x ** STATS_slope
set logscale xy
set format x '10^{%L}'
set format y '10^{%L}'
set xlabel 'stages x systems'
set ylabel 'CPU seconds of a simulated step'
set grid
set key left top reverse Left
set title 'Cost of a simulation: 13B model of 5 to 40 layers on 1 to 4096 systems'
middle = 10 ** STATS_mean_x
one(x) = line(middle) * x / middle
plot data index 0 using ($3 * $4):8 with points pt 7 ps 0.8 lc rgb '#1f77b4' title 'by block', \
     data index 1 using ($3 * $4):8 with points pt 9 ps 0.9 lc rgb '#d95f02' title 'by matrix', \
     line(x) with lines lw 2 lc rgb '#000000' title sprintf('fitted slope %.2f', STATS_slope), \
     one(x) with lines lw 2 dt 2 lc rgb '#999999' title 'slope 1'
END
echo "wrote $picture"
