run --params tests/golden/params/trainer.yaml --set sparsity='{algorithm: rigl, sparsity: 0.5, balance_in_groups: 7}' --model_dir "$TMP/m"
