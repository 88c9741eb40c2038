mesh reduce --heatmap heat.svg
