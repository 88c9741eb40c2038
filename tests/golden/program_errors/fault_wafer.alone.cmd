run --params configs/params/tiny.yaml --num_csx 8 --numerics none --model_dir "$TMP/o" --fault lost_wafer:wafer=9
