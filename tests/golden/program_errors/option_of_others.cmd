run --params configs/params/tiny.yaml --out here
