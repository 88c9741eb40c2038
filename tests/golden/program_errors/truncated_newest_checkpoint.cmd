"$WSC" run --params configs/params/tiny.yaml --model_dir "$TMP/m" --set train_input.data_dir="$DATA/train" --set eval_input.data_dir="$DATA/val" --num_steps 1 --set runconfig.checkpoint_steps=1 >"$TMP/log" && truncate -s 20000 "$TMP/m/checkpoint_1.mdl"
run --params configs/params/tiny.yaml --model_dir "$TMP/m" --set train_input.data_dir="$DATA/train" --set eval_input.data_dir="$DATA/val"
