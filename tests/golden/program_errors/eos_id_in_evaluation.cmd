run --params configs/params/tiny.yaml --mode eval --model_dir "$TMP/m" --eos_id 10
