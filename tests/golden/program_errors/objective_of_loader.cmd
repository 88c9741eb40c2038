run --params configs/params/tiny.yaml --model_dir "$TMP/m" --num_steps 1 --set model.objective=classification
