scale --params configs/params/tiny.yaml
