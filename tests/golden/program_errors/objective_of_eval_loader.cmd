run --params configs/params/bert_tiny.yaml --model_dir "$TMP/m" --mode eval --set model.objective=regression
