convert --from hf --to hf --input a --out b
