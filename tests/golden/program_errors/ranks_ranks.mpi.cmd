ranks --num_csx 4
