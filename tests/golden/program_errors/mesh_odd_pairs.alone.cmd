mesh rotary --head_dim 7
