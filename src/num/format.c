// SPDX-License-Identifier: Apache-2.0
#include "num_impl.h"

#include <string.h>

void num_fp32_to_bf16(uint16_t *restrict out, const float *restrict in, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &in[i], sizeof bits);
        uint32_t nearest_even = (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
        uint32_t quiet_nan = bits >> 16 | 0x40U;
        out[i] = (uint16_t)((bits & 0x7FFFFFFFU) > 0x7F800000U ? quiet_nan : nearest_even);
    }
}

void num_bf16_to_fp32(float *restrict out, const uint16_t *restrict in, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)in[i] << 16;
        memcpy(&out[i], &bits, sizeof bits);
    }
}
