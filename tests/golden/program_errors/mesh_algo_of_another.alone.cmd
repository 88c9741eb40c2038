mesh gemm --algo chain
