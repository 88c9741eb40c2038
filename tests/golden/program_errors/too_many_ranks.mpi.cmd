run --params configs/params/tiny.yaml --model_dir "$TMP/m" --set train_input.data_dir="$DATA/train" --set eval_input.data_dir="$DATA/val" --num_csx 1 --set cluster.memoryx.shards=1
