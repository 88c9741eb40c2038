run --params configs/params/tiny.yaml --num_csx 2 --max_steps 30000 --numerics none --model_dir "$TMP/o" --fault straggler:rate=1,factor=2,steps=1
