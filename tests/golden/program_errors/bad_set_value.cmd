run --params configs/params/tiny.yaml --model_dir "$TMP/m" --set model.hidden_size=many
