run --params configs/params/tiny.yaml --model_dir "$TMP/m" --set model.freeze=[no_such_tensor]
