run --params configs/params/tiny.yaml --model_dir "$TMP/m" --set train_input.data_dir=configs/data/tiny/train/data-00000.h5
