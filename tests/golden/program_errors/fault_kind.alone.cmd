run --params configs/params/tiny.yaml --numerics none --model_dir "$TMP/o" --fault stragler:wafer=1,factor=2
