mesh gemm --algo summa --half bf16
