validate --mesh --pairs 1 --set cluster.wafer.stage_latency=2ms
