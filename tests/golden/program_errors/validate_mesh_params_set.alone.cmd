validate --mesh --pairs 1 --set model.hidden_size=3
