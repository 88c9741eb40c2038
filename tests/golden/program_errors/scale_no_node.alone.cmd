scale --params configs/params/tiny.yaml --out "$TMP/o" --num_csx 1 --fault lost_planes:node=0,planes=2
