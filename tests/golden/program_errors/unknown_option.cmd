run --param_file configs/params/tiny.yaml
