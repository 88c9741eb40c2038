run --params tests/golden/params/trainer.yaml --set sparsity=1.5 --model_dir "$TMP/m"
