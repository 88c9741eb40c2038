run --params configs/params/tiny.yaml --num_csx 2 --max_steps 30 --numerics none --model_dir "$TMP/o" --fault lost_wafer:wafer=0,from=5 --fault lost_wafer:wafer=1,from=9
