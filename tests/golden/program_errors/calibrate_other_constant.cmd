calibrate --out "$TMP/x.yaml" --fit wafer.divide_cycles
