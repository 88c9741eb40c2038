/** Data: which samples a step sees, and their tokens.  Layer 3.
 *
 *  The order of samples is a function of (seed, epoch) alone: whoever asks for samples
 *  [first, first + n) of the stream gets the same ones, whatever the number of systems or ranks.
 *  Also makes datasets from text (byte tokenizer).
 *  Start reading at data_source_read().
 */
#ifndef WSC_DATA_H
#define WSC_DATA_H
#include <wsc/conf.h>
#include <wsc/err.h>

#include <stdint.h>

/** Tokens of consecutive samples of the stream, each (n, T) row-major, owned. */
struct data_batch {
    int64_t n, n_max, T;
    int32_t *input_ids, *labels; /**< labels at places with mask 0 are 0 when out of range */
    int32_t *mask;               /**< loss mask, 0 or 1 */
};
enum wsc_err data_batch_create(struct data_batch **out, int64_t n_max, int64_t T) WSC_CHECKED;
void data_batch_destroy(struct data_batch **batch);

/** The samples of one input section: all *.h5 of its directories, sorted by path. */
struct data_source;
/** Open; checks every file's shape, types, attribute n_examples, and that the sequence length is
 *  @p T.  Errors name file and hint.  @p vocab_size bounds the token ids (checked when read).
 *  Corpus files (rank 1) are cut into samples of T.  Keeps a few files open at a time.
 *  Not collective: each rank opens for itself. */
enum wsc_err data_source_open(struct data_source **out, const struct conf_input *input, int64_t T,
                              int64_t vocab_size) WSC_CHECKED;
void data_source_close(struct data_source **source);
int64_t data_source_n_samples(const struct data_source *source);
/** Samples [first, first + n) of the endless stream into @p batch (n <= its n_max); sample g is
 *  element g mod N of epoch g / N's order (identity without shuffle). */
enum wsc_err data_source_read(struct data_source *source, int64_t first, int64_t n,
                              struct data_batch *batch) WSC_CHECKED;

/** Element @p i of the permutation of [0, n) that belongs to (seed, epoch): O(1) memory and time,
 *  by a Feistel network with cycle walking. */
int64_t data_permute(int64_t i, int64_t n, uint64_t seed, uint64_t epoch);

/* ---- making datasets ------------------------------------------------------------------------- */

/** What `wsc data` makes. */
struct data_make {
    const char *const *input; /**< text files, plain or gzip, taken one after the other */
    int n_inputs;
    const char *out_dir; /**< gets train/ and val/ with .h5 and data_params.json */
    int64_t T;           /**< max_seq_length */
    double split;        /**< share of the sequences held out, [0, 1) */
    int64_t samples_per_file;
    void (*progress)(void *ctx, int64_t bytes_done, int64_t bytes_total); /**< may be NULL */
    void *progress_ctx;
};
struct data_made {
    int64_t n_bytes, n_train, n_val, vocab_size;
    /** Of the labels of the training part, nats: the loss of a model that knows nothing but how
     *  frequent each byte is. */
    double unigram_entropy_nats;
};
/** Byte-level dataset (vocabulary 256: one id per byte) in the Model Zoo's HDF5 form.
 *
 *  All inputs are joined and cut into samples of T + 1 bytes that overlap by one: sample i has
 *  input [iT, iT + T), labels one further, mask 1.  Only the last sample may be padded (0, mask 0).
 *  The last `split` share of the samples goes to val/, at least one when split > 0, so that no
 *  held-out text stands between training text.
 *  Memory does not grow with the input.  Each of train/ and val/ appears complete or not at all;
 *  an existing one is replaced when it is empty or was made by this function, otherwise refused. */
enum wsc_err data_make_bytes(const struct data_make *make, struct data_made *made) WSC_CHECKED;

/** Text of @p n byte-level token ids into @p text (n + 1 bytes, NUL-terminated).  Always valid
 *  UTF-8 without control characters other than tab and newline: what is not becomes '?'. */
void data_decode_bytes(const int32_t *ids, int64_t n, char *text);
#endif
