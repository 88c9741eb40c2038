/** The description of a dataset, data_params.json, in the Model Zoo's keys; make_dataset.c fills in
 *  the counts. */
#ifndef WSC_DATA_DATASET_PARAMS_H
#define WSC_DATA_DATASET_PARAMS_H
#include <wsc/data.h>
#include <wsc/err.h>

#include <stdint.h>
#include <stdio.h>

/** A JSON string with its quotes. */
void data_params_string(FILE *f, const char *text);

/** Counts of one part, for its data_params.json. */
struct data_part {
    int64_t first, n_samples;   /**< in the order of samples */
    int64_t n_tokens, n_masked; /**< positions; those that are no label: mask 0 */
    int64_t n_pad;              /**< positions of padding */
    /** Samples are pieces of a running text, of which bytes and characters of UTF-8 are counted. */
    bool of_text;
    int64_t n_bytes, n_chars;
    int64_t *label_count; /**< by id; owned by make_dataset.c */
    bool pairs;           /**< a sample is a chosen and a rejected text */
    /** The data loader of an encoder, and its features as JSON; NULL: samples of GPT. */
    const char *loader, *features;
};
/** Entropy of label_count, nats. */
double data_part_entropy(const struct data_part *part, int64_t vocab_size);
/** Write `<dir>/data_params.json` in the Model Zoo's keys. */
enum wsc_err data_params_write(const char *dir, const struct data_make *make,
                               const struct data_made *made,
                               const struct data_part *part) WSC_CHECKED;
#endif
