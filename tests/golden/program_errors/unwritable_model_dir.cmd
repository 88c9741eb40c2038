touch "$TMP/file"
run --params configs/params/tiny.yaml --model_dir "$TMP/file/m" --set train_input.data_dir="$DATA/train" --set eval_input.data_dir="$DATA/val"
