run --params configs/params/tiny.yaml --numerics none --model_dir "$TMP/o" --fault lossy_link:wafer=0,loss=0.9
