run --params configs/params/tiny.yaml --numerics none --checkpoint_path x.mdl
