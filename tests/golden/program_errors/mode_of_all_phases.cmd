run --params configs/params/tiny_phases.yaml --prompt x
