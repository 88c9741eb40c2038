run --params "$TMP/none.yaml"
