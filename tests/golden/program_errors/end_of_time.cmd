run --params configs/params/tiny.yaml --model_dir "$TMP/m" --numerics none --set cluster.wafer.stage_latency=1000s --max_steps 5000 --set runconfig.log_steps=1000
