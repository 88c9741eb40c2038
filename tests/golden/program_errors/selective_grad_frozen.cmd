run --params configs/params/tiny.yaml --model_dir "$TMP/m" --set 'model.selective_grad={param_filter: ["*ffn*weight", "*norm1.weight"]}' --set model.freeze=[ffn]
