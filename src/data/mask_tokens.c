// SPDX-License-Identifier: Apache-2.0
/* Chooses the tokens that a masked language model predicts (Devlin et al. 2019, 3.1): the first
 * ones of a random permutation of the sample's tokens that are not special tokens; another random
 * number determines the replacement of each. Random numbers are functions of (seed, draw, element),
 * so a sample has the same mask on any number of systems and after a restart, and another mask in
 * the next epoch. encoder_samples.c calls for dynamic masking. Masks that are in files are checked
 * here too. */
#include "mask_tokens.h"

#include <wsc/rng.h>

#include <stdlib.h>

/* Elements of a sample's stream of random numbers: those of the permutation, then two for each
 * chosen token. */
enum { REPLACEMENT = 1 << 24 };

static uint64_t word(const struct data_cloze *c, int64_t i)
{
    return wsc_rng_u64(c->seed, wsc_rng_stream(WSC_RNG_CLOZE, c->draw), (uint64_t)i);
}

/* A random number, uniform in [0, n) up to 2^-32: the upper bits of a product. */
static int64_t below(const struct data_cloze *c, int64_t i, int64_t n)
{
    return (int64_t)((word(c, i) >> 32) * (uint64_t)n >> 32);
}

/* Tokens that are no words; [UNK] stands for one. */
enum { N_SPECIAL = 4 };

static void list_special(const struct data_cloze *c, int32_t special[N_SPECIAL])
{
    const struct data_special s = data_wordpiece_special(c->words);
    special[0] = s.cls;
    special[1] = s.sep;
    special[2] = s.pad;
    special[3] = s.mask;
}

static bool is_special(const struct data_cloze *c, int32_t id)
{
    int32_t special[N_SPECIAL];
    bool is = false;
    list_special(c, special);
    for (int k = 0; k < N_SPECIAL; k++)
        is = is || id == special[k];
    return is;
}

static int compare_ids(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* A random token that is not a special one, each as likely as another: the number among those that
 * are not special, to which each special token below it adds one. */
static int32_t random_token(const struct data_cloze *c, int64_t i)
{
    int32_t special[N_SPECIAL];
    list_special(c, special);
    qsort(special, N_SPECIAL, sizeof *special, compare_ids);
    int32_t id = (int32_t)below(c, i, data_wordpiece_n(c->words) - N_SPECIAL);
    for (int k = 0; k < N_SPECIAL; k++)
        id += id >= special[k];
    return id;
}

/* First and end of the word that has the piece at @p i. As in the Model Zoo, a word whose beginning
 * is cut off takes the token before its pieces too, at the beginning of a sample [CLS]. */
static void word_around(const struct data_cloze *c, const int32_t *ids, int64_t n, int64_t i,
                        int64_t *first, int64_t *end)
{
    *first = i;
    *end = i + 1;
    if (!c->whole_word) return;
    while (*first > 0 && data_wordpiece_continues(c->words, ids[*first]))
        --*first;
    while (*end < n && data_wordpiece_continues(c->words, ids[*end]))
        ++*end;
}

static void permute(const struct data_cloze *c, int64_t n, int32_t *order)
{
    for (int64_t i = 0; i < n; i++)
        order[i] = (int32_t)i;
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = below(c, i, i + 1);
        const int32_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

/* The replacement of token @p i. */
static int32_t replacement(const struct data_cloze *c, int64_t i, int32_t id)
{
    const int64_t tenth = below(c, REPLACEMENT + 2 * i, 10);
    if (tenth < 8) return data_wordpiece_special(c->words).mask;
    return tenth == 8 ? random_token(c, REPLACEMENT + 2 * i + 1) : id;
}

/* Number of masked tokens, rounded half to even as in Python. */
static int64_t wanted(const struct data_cloze *c, int64_t n)
{
    const double exact = (double)n * c->share;
    int64_t count = (int64_t)exact;
    const double rest = exact - (double)count;
    if (rest > 0.5 || (rest == 0.5 && count % 2)) count++;
    if (count < 1) count = 1;
    return count < c->most ? count : c->most;
}

void data_mask_tokens(const struct data_cloze *c, int64_t n, int32_t *ids, int32_t *labels,
                      int32_t *mask, int32_t *order)
{
    const int64_t count = wanted(c, n);
    int64_t chosen = 0, first, end;
    permute(c, n, order);
    for (int64_t k = 0; k < n && chosen < count; k++) {
        if (mask[order[k]] || is_special(c, ids[order[k]])) continue;
        word_around(c, ids, n, order[k], &first, &end);
        if (chosen + end - first > c->most) continue;
        chosen += end - first;
        for (int64_t i = first; i < end; i++) {
            labels[i] = ids[i];
            mask[i] = 1;
        }
    }
    for (int64_t i = 0; i < n; i++)
        if (mask[i]) ids[i] = replacement(c, i, ids[i]);
}

const char *data_mask_named(int64_t T, int64_t t, int32_t label, int32_t weight, int32_t *labels,
                            int32_t *mask)
{
    if (!weight) return NULL;
    if (weight != 1) return "a weight other than 0 and 1 at masked position";
    if (t < 0 || t >= T) return "masked position outside the sequence:";
    if (mask[t]) return "masked twice: position";
    labels[t] = label;
    mask[t] = 1;
    return NULL;
}
