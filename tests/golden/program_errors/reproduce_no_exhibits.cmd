head -n 1 benchmarks/reference/single_system.csv >"$TMP/rows.csv"; grep "^usc_256m_b128," benchmarks/reference/single_system.csv >>"$TMP/rows.csv"
echo 'exhibits: []' >"$TMP/exhibits.yaml"
reproduce --reference "$TMP" --out "$TMP/o"
