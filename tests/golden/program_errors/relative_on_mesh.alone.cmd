run --params configs/params/tiny.yaml --model_dir "$TMP/m" --max_steps 1 --numerics mesh --set model.position_embedding_type=relative --set train_input.data_dir="$DATA/train"
