run --params configs/params/tiny.yaml --model_dir "$TMP/m" --numerics none --set cluster.memoryx.capacity=1MB
