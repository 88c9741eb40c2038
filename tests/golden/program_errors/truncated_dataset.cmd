cp -r "$DATA" "$TMP/d"; for f in "$TMP"/d/train/*.h5; do truncate -s 5000 "$f"; done
run --params configs/params/tiny.yaml --model_dir "$TMP/m" --set train_input.data_dir="$TMP/d/train"
