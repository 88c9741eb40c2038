// SPDX-License-Identifier: Apache-2.0
/* The time that an amount takes at a rate, rounded up to whole picoseconds, in 128-bit arithmetic
 * so that no product overflows; everything beyond the end of time is VTIME_END. */
#include <wsc/vtime.h>

int64_t vtime_duration_ps(int64_t amount, int64_t per_s)
{
    __extension__ typedef __int128 wide;
    if (!per_s) return 0;
    const wide ps = ((wide)amount * VTIME_PS_PER_S + per_s - 1) / per_s;
    return ps < VTIME_END ? (int64_t)ps : VTIME_END;
}
