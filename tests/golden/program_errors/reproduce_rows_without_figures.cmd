head -n 1 benchmarks/reference/single_system.csv >"$TMP/rows.csv"; grep "^usc_256m_b128," benchmarks/reference/single_system.csv >>"$TMP/rows.csv"
printf 'exhibits:\n  - {id: hours, picture: ratios, title: Hours,\n     rows: usc_* alcf_*}\n' >"$TMP/exhibits.yaml"
reproduce --reference "$TMP" --out "$TMP/o"
