/** Merges of the most frequent pair of neighbours in words with counts (Sennrich et al. 2016,
 *  algorithm 1), from which BPE and WordPiece vocabularies are learned. Of equally frequent pairs
 *  the one with the smaller ids comes first, so that the words determine the result. */
#ifndef WSC_DATA_PAIR_MERGES_H
#define WSC_DATA_PAIR_MERGES_H
#include <wsc/err.h>

#include <stdbool.h>
#include <stdint.h>

struct data_merges;
/** *@p out is NULL after an error. */
enum wsc_err data_merges_create(struct data_merges **out) WSC_CHECKED;
/** Free the object and set the pointer to NULL, which it may be before. */
void data_merges_destroy(struct data_merges **merges);
/** Add a word of @p n symbols that occurs @p count times; before the first merge. */
enum wsc_err data_merges_add(struct data_merges *m, const int32_t *symbol, int64_t n,
                             int64_t count) WSC_CHECKED;
/** The symbol that replaces the pair @p ids, a new one or an existing one; -1: the pair is never
 *  merged. */
typedef enum wsc_err (*data_join_fn)(void *ctx, const int32_t ids[2], int32_t *id);
/** Merge the most frequent pair, if it occurs at least @p least times, in all words; *@p more is
 *  false if there is none. */
enum wsc_err data_merges_next(struct data_merges *m, int64_t least, data_join_fn join, void *ctx,
                              bool *more) WSC_CHECKED;
#endif
