scale --params configs/params/tiny.yaml --out "$TMP/o" --num_csx 2 --fault straggler:wafer=2,factor=2
