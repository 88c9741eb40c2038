run --params configs/params/tiny.yaml --model_dir "$TMP/m" --prompt "the cat"
