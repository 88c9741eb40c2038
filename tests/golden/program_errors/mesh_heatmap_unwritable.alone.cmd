mesh reduce --heatmap "$TMP/none/heat.png"
