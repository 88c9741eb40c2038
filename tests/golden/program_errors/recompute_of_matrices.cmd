run --params configs/params/tiny.yaml --num_steps 1 --set model.recompute=true --set cluster.stream.granularity=matrix
