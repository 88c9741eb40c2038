run --params configs/params/tiny.yaml --model_dir "$TMP/m" --set 'model.lora_params={r: 4, alpha: 8, target_modules: [Foo]}'
