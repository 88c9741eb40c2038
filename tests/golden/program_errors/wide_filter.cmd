run --params configs/params/tiny.yaml --validate_only --set model.filter_size=1048577
