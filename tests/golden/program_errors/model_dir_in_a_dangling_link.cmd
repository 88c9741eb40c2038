ln -s "$TMP/gone" "$TMP/link"
run --params configs/params/tiny.yaml --model_dir "$TMP/link/m" --set train_input.data_dir="$DATA/train" --set eval_input.data_dir="$DATA/val"
