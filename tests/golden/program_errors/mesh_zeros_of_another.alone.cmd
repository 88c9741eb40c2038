mesh reduce --zeros 0.5
