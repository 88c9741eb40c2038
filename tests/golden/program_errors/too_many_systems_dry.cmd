run --params configs/params/tiny.yaml --cluster configs/cluster/andromeda.yaml --num_csx 17 --validate_only
