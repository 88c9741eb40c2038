mesh wgrad --pass backward
