run --params configs/params/tiny.yaml --params configs/params/tiny.yaml
