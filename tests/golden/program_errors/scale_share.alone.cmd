scale --params configs/params/tiny.yaml --num_csx 1 --sweep global_batch=1000,1e9 --out $TMP
