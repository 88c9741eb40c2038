run --params configs/params/tiny.yaml --compile_only --numerics mesh
