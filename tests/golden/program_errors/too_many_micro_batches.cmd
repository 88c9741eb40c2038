run --params configs/params/tiny.yaml --model_dir "$TMP/m" --numerics none --num_steps 1 --set train_input.batch_size=900000000 --set train_input.micro_batch_size=1
