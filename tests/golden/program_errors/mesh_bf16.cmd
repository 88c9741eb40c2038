run --params configs/params/tiny.yaml --model_dir "$TMP/m" --max_steps 1 --numerics mesh --set model.mixed_precision=true --set model.fp16_type=bfloat16 --set train_input.data_dir="$DATA/train"
