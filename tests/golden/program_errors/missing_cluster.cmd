run --params configs/params/tiny.yaml --model_dir "$TMP/m" --cluster "$TMP/none.yaml"
