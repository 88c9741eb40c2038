run --params configs/params/tiny.yaml --model_dir "$TMP/m" --max_steps 1 --numerics mesh --set model.dropout_rate=0.1 --set train_input.data_dir="$DATA/train"
