run --params configs/params/mesh.yaml --numerics mesh --model_dir "$TMP/m" --set train_input.data_dir="$DATA/train" --set train_input.use_vsl=true
