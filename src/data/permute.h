/** The order of samples in an epoch: a permutation that is computed element by element, so that any
 *  wafer and any resumed run finds its samples independently. */
#ifndef WSC_DATA_PERMUTE_H
#define WSC_DATA_PERMUTE_H
#include <stdint.h>

/** Element @p i of the permutation of [0, n) for (seed, epoch), in O(1) memory and time, by a
 *  Feistel network with cycle walking. */
int64_t data_permute(int64_t i, int64_t n, uint64_t seed, uint64_t epoch);
#endif
