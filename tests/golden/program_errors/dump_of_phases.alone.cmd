run --params configs/params/tiny_phases.yaml --dump_params
