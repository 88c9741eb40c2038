scale --params configs/params/tiny.yaml --num_csx 1,4096 --batch_per_csx 1000000 --out $TMP
