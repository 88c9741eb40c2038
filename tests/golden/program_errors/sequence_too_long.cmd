run --params configs/params/tiny.yaml --model_dir "$TMP/m" --numerics none --set cluster.wafer.pe_rows=1 --set cluster.wafer.pe_cols=4
