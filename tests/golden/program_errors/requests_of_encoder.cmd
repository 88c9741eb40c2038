printf '{"arguments": [["a", "b"]]}\n' >$TMP/r.jsonl
run --params configs/params/bert_tiny.yaml --mode eval --requests $TMP/r.jsonl
