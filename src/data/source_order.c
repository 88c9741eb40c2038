// SPDX-License-Identifier: Apache-2.0
/* Computes the order of the samples of an epoch: the used samples of a data set, the number of
 * samples in a mixture, and the sample at an index, shuffled or spread evenly. The order is a
 * function of seed and epoch alone, so any rank finds its own samples without the others.
 * batch_source.c calls. */
#include "permute.h"
#include "source_state.h"

#include <wsc/check.h>
#include <wsc/zoo.h>

__extension__ typedef __int128 wide; /* products of two numbers of samples */

/* Set the ranges of samples: fractions are rounded down to whole samples, as in the Model Zoo. */
void data_source_choose(struct data_set *set, const struct zoo_subset *subset)
{
    for (int i = 0; i < subset->n; i++) {
        int64_t from = (int64_t)((double)set->n * subset->from[i]);
        int64_t to = (int64_t)((double)set->n * subset->to[i]);
        set->from[i] = from;
        set->n_before[i] = set->n_used;
        set->n_used += to - from;
    }
    set->n_ranges = subset->n;
    if (!subset->n) set->n_used = set->n;
}

/* An epoch of a mixture is as long as needed to see every sample of every data set with a weight
 * above 5 %, as the Model Zoo defines it; of all data sets if no weight is. */
enum wsc_err data_source_mix(struct data_source *s, const struct zoo_input *input)
{
    double sum = 0, total = 0, all = 0;
    for (int k = 0; k < s->n_sets; k++)
        sum += input->weight[k];
    for (int k = 0; k < s->n_sets; k++) {
        double share = input->weight[k] / sum, wanted;
        if (!(share > 0)) continue;
        wanted = (double)s->set[k].n_used / share;
        all = wanted > all ? wanted : all;
        if (share > 0.05 && wanted > total) total = wanted;
    }
    if (!(total > 0)) total = all;
    if (total > (double)DATA_MAX_SAMPLES)
        return WSC_RAISE(WSC_CONFIG, "mixture: an epoch of %.3g samples is too long", total);
    for (int k = 0; k < s->n_sets; k++) /* a product that is a whole number stays one */
        s->set[k].n_epoch = (int64_t)(total * (input->weight[k] / sum) + 1e-6);
    return WSC_OK;
}

/* Without shuffling, each data set of a mixture spreads its samples evenly over an epoch of s->n:
 * the j-th of M is at (2 j + 1) / (2 M) of the epoch; of equal positions the data set that comes
 * first in the file is first. Returns the number of samples of @p set before the j-th of @p of. */
static int64_t count_before(const struct data_source *s, int set, int of, int64_t j)
{
    wide M = s->set[set].n_epoch, N = s->set[of].n_epoch;
    wide limit = (2 * (wide)j + 1) * M; /* sample l counts while (2 l + 1) N < limit */
    if (set < of) limit += 1;
    wide n = (limit - N + 2 * N - 1) / (2 * N);
    return (int64_t)(n < 0 ? 0 : n > M ? M : n);
}

/* Index in the epoch of sample @p j of a set: j, plus the samples of the other sets before it. */
static int64_t place_of(const struct data_source *s, int set, int64_t j)
{
    int64_t place = j;
    for (int k = 0; k < s->n_sets; k++)
        if (k != set && s->set[k].n_epoch) place += count_before(s, k, set, j);
    return place;
}

/* Find the data set of element @p at, and which of its samples it is. */
static const struct data_set *find_mixed(const struct data_source *s, int64_t at, int64_t *j)
{
    for (int k = 0; k < s->n_sets; k++) {
        int64_t lo = 0, hi = s->set[k].n_epoch - 1;
        while (lo < hi) {
            int64_t mid = lo + (hi - lo) / 2;
            if (place_of(s, k, mid) < at)
                lo = mid + 1;
            else
                hi = mid;
        }
        *j = lo;
        if (s->set[k].n_epoch && place_of(s, k, lo) == at) return &s->set[k];
    }
    WSC_CHECK(false, "place %lld of the mixture is empty", (long long)at);
    return NULL;
}

/* Find an element if the data sets are arranged one after the other, for orders that are shuffled.
 */
static const struct data_set *find_stacked(const struct data_source *s, int64_t at, int64_t *j)
{
    const struct data_set *set = s->set;
    for (; at >= set->n_epoch; set++)
        at -= set->n_epoch;
    *j = at;
    return set;
}

/* Element @p i of an epoch in [0, s->n): if num_samples is larger than the data, whole copies of
 * the data and a part of one. */
int64_t data_source_order(const struct data_source *s, int64_t i, uint64_t epoch)
{
    const uint64_t last_copy = (uint64_t)1 << 55 | epoch;
    if (!s->shuffle) return i % s->n;
    if (s->n_epoch <= s->n) return data_permute(i, s->n, s->seed, epoch);
    int64_t whole = (s->n_epoch - 1) / s->n * s->n;
    i = data_permute(i, s->n_epoch, s->seed, epoch);
    return i < whole ? i % s->n : data_permute(i - whole, s->n, s->seed, last_copy);
}

/* Index over the files of sample @p i among the used samples of a data set. */
static int64_t in_files(const struct data_set *set, int64_t i)
{
    for (int r = set->n_ranges - 1; r >= 0; r--)
        if (i >= set->n_before[r]) return i + set->from[r] - set->n_before[r];
    return i;
}

const struct data_set *data_source_find(const struct data_source *s, int64_t at, int64_t *i)
{
    int64_t j = 0;
    const struct data_set *set =
        s->shuffle || s->n_sets == 1 ? find_stacked(s, at, &j) : find_mixed(s, at, &j);
    *i = in_files(set, j % set->n_used);
    return set;
}
