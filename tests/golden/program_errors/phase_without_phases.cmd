run --params configs/params/tiny.yaml --phase 1 --validate_only
