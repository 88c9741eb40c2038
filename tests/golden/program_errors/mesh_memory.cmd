run --params configs/params/tiny.yaml --model_dir "$TMP/m" --max_steps 1 --numerics mesh --set train_input.data_dir="$DATA/train" --set cluster.wafer.pe_cols=2 --set cluster.wafer.pe_rows=2
