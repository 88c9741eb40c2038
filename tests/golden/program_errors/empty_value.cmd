run --params configs/params/tiny.yaml --compile_only --num_csx "$NOT_SET"
