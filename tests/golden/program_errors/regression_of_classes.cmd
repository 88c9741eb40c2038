printf '%s\n' 'train_input: {data_processor: MNLIDataProcessor, data_dir: ./d, vocab_file: ./v, batch_size: 2}' 'model: {name: bert/classifier, vocab_size: 32, hidden_size: 16, num_heads: 2, problem_type: regression}' 'optimizer: {optimizer_type: AdamW, learning_rate: 0.1}' >"$TMP/p.yaml"
run --params "$TMP/p.yaml" --model_dir "$TMP/m" --num_steps 1
