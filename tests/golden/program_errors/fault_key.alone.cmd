run --params configs/params/tiny.yaml --numerics none --model_dir "$TMP/o" --fault straggler:wafer=1,facter=2
