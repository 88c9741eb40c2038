run --params configs/params/tiny.yaml --model_dir "$TMP/m" --numerics exact
