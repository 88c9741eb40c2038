run --params configs/params/tiny.yaml --model_dir "$TMP/m" --set train_input.data_dir="$DATA/train" --set eval_input.data_dir="$DATA/val" --set model.vocab_size=32 --num_csx 1
