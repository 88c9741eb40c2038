/** Batches of samples of like length (`buckets` of an input), inside `data`: samples in their order
 *  fall into buckets by length, and a bucket that has a whole batch is the next one of the epoch.
 */
#ifndef WSC_DATA_LENGTH_BUCKETS_H
#define WSC_DATA_LENGTH_BUCKETS_H
#include <wsc/err.h>
#include <wsc/zoo.h>

#include <stdint.h>

struct data_buckets;
/** Element @p i of epoch @p epoch before grouping: one of the n samples. */
typedef int64_t data_order_fn(const void *ctx, int64_t i, uint64_t epoch);

/** Buckets and batch size of @p input for @p n samples, which are all in the first bucket at first.
 *  *@p out is NULL after an error. */
enum wsc_err data_buckets_create(struct data_buckets **out, const struct zoo_input *input,
                                 int64_t n) WSC_CHECKED;
/** Free the object and set the pointer to NULL, which it may be before. */
void data_buckets_destroy(struct data_buckets **buckets);
/** Set the length of sample @p i: its bucket is the number of boundaries that are at most @p
 *  length. */
void data_buckets_put(struct data_buckets *b, int64_t i, int64_t length);
/** Number of samples of an epoch, in complete batches; call after all lengths are set. */
int64_t data_buckets_n(const struct data_buckets *b);
/** Sample at index @p i of the batches of epoch @p epoch. The last epoch is kept; another one takes
 *  a pass over the order of all samples. */
int64_t data_buckets_at(struct data_buckets *b, int64_t i, uint64_t epoch, data_order_fn *order,
                        const void *ctx);
#endif
