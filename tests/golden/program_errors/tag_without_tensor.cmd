run --params configs/params/tiny.yaml --model_dir "$TMP/m" --set 'optimizer.params=[{tag: a, params: zz}]' --set 'optimizer.tagged_schedules=[{param_group_tags: a, weight_decay: 0.1}]'
