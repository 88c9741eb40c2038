inspect "$TMP/none.mdl"
