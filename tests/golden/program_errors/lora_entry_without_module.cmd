run --params configs/params/tiny.yaml --model_dir "$TMP/m" --set 'model.lora_params=[{r: 2, target_modules: [TransformerDecoderLayer, Linear]}, {r: 4, target_modules: [FeedForwardNetwork, Linear]}]'
