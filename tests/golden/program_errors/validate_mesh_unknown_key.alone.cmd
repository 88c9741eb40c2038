validate --mesh --set cluster.foo=1
