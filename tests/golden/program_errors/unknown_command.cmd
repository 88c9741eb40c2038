scal --params configs/params/tiny.yaml
