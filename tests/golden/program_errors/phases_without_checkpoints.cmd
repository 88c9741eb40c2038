run --params tests/golden/params/phases.yaml --model_dir "$TMP/m" --set runconfig.checkpoint_steps=0
