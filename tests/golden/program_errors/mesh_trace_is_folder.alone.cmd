mesh reduce --trace "$TMP"
