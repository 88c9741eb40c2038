run --params configs/params/tiny.yaml --model_dir "$TMP/m" --num_csx 2 --num_csx 4
