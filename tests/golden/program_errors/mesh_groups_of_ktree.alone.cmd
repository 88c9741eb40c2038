mesh allreduce --algo chain --groups 2
