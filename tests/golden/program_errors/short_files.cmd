run --params configs/params/tiny.yaml --model_dir "$TMP/m" --set train_input.data_dir="$DATA/train" --set eval_input.data_dir="$DATA/val" --set model.max_position_embeddings=128
