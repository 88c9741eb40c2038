run --params configs/params/tiny.yaml --mode eval --trace "$TMP/t.json"
