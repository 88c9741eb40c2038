mesh reduce --fabric 4x4 --trace "$TMP/t.json" --trace_pe 0-4,0
