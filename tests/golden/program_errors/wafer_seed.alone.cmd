validate --mesh --wafer --seed 3
