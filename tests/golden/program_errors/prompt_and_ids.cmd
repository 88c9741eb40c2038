run --params configs/params/tiny.yaml --mode generate --prompt a --prompt_ids 1
