/** Division into nearly equal contiguous parts, for batches and tensors: of n parts of a total, the
 *  first total mod n ones have one item more than the others. */
#ifndef WSC_STREAM_EVEN_H
#define WSC_STREAM_EVEN_H
#include <stdint.h>

/* First item of part @p i of @p n; the total if @p i == @p n. */
static inline int64_t stream_even_start(int64_t total, int64_t i, int64_t n)
{
    const int64_t base = total / n, remainder = total % n;
    return i * base + (i < remainder ? i : remainder);
}
#endif
