run --params configs/params/tiny.yaml --num_csx 2 --max_steps 30 --set runconfig.checkpoint_steps=20 --numerics none --model_dir "$TMP/o" --fault lost_shard:shard=0,from=9
