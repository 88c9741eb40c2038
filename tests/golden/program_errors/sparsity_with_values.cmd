run --params tests/golden/params/trainer.yaml --model_dir "$TMP/m"
