run --params configs/params/bert_base.yaml --model_dir "$TMP/m" --num_steps 1
