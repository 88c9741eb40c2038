run --params configs/params/tiny.yaml --model_dir "$TMP/m" --mode generate --prompt a --numerics none
