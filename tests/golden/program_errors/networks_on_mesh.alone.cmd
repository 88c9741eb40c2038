run --params configs/params/tiny.yaml --model_dir "$TMP/m" --max_steps 1 --numerics mesh --set model.moe.num_experts=17 --set model.moe.top_k=17 --set train_input.data_dir="$DATA/train"
