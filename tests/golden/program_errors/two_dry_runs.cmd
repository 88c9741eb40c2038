run --params configs/params/tiny.yaml --validate_only --compile_only
