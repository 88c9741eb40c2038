run --params configs/params/tiny.yaml --mode generate --prompt a --temperature 0 --top_k 5
