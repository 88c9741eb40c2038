validate --mesh --pairs 1 --set cluster.memoryx.update_rate=1e9
