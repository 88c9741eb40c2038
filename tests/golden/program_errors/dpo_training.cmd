run --params configs/params/tiny.yaml --model_dir "$TMP/m" --set model.dpo.beta=0.1 --set train_input.data_processor=DpoHDF5DataProcessor --numerics none --mode train_and_eval
