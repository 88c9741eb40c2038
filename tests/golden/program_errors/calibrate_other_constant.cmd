calibrate --out "$TMP/x.yaml" --fit wafer.clock
