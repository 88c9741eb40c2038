validate --mesh --sparse --pairs 1 --set cluster.wafer.exp_cycles=9
