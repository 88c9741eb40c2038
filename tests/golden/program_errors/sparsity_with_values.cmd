run --params tests/golden/params/trainer.yaml --set sparsity=0.5 --model_dir "$TMP/m"
