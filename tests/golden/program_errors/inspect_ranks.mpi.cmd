inspect configs/params/tiny.yaml
