calibrate --out "$TMP/x.yaml" --fit ""
