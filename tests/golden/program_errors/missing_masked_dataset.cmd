run --params configs/params/bert_tiny.yaml --model_dir "$TMP/m" --set train_input.data_dir="$TMP/nowhere/train/"
