ranks --num_csx 2 --set cluster.swarmx.fanout=2 --set model.hidden_size=4
