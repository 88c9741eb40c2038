run --params configs/params/tiny.yaml --num_csx 2 --numerics none --model_dir "$TMP/o" --fault lost_planes:node=0,planes=7 --fault lost_planes:node=0,planes=6,from=3
