mesh allreduce --half bf16
