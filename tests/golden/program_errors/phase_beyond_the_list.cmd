run --params tests/golden/params/phases.yaml --model_dir "$TMP/m" --phase 3
