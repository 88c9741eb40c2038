convert --from hf --to cs --input tests/data/hf_gpt2 --out "$TMP/o"
