validate --out "$TMP/x" --reference "$TMP"
