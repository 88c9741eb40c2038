run --params "$TMP"
