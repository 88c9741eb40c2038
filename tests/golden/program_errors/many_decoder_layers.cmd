run --params configs/params/tiny.yaml --validate_only --set model.decoder_num_hidden_layers=4095
