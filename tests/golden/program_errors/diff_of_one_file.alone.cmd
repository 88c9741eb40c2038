params --diff configs/params/tiny.yaml
