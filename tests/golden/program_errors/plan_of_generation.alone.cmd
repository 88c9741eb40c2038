run --params configs/params/tiny.yaml --compile_only --mode generate --prompt a
