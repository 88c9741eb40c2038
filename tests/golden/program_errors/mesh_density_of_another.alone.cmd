mesh reduce --density 0.5
