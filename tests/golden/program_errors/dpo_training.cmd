run --params configs/params/tiny.yaml --model_dir "$TMP/m" --set model.dpo.beta=0.1 --numerics none
