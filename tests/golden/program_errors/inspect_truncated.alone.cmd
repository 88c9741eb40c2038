head -c 3000 tests/data/gpt2_torch.h5 >"$TMP/t.h5"
inspect "$TMP/t.h5"
