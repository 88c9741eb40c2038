run --params configs/params/tiny.yaml --validate_only --set model.num_hidden_layers=8193
