run --params configs/params/tiny.yaml --num_stpes 3
