inspect tests/data/h5py_samples.h5 --json
