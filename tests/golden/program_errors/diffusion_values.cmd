run --params configs/params/dit_2b.yaml --num_steps 1
