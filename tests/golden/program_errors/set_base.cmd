run --params configs/params/tiny.yaml --compile_only --set cluster.base=cs3.yaml
