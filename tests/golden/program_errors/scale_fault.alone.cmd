scale --params configs/params/tiny.yaml --out "$TMP/o" --num_csx 2 --fault lost_wafer:wafer=1,from=9
