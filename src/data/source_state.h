/** The state of a source of samples: its data sets, their files, and the functions that its files
 *  share. batch_source.c opens a source and fills batches; source_files.c reads files,
 *  source_order.c has the order of an epoch, source_values.c checks the values of samples. */
#ifndef WSC_DATA_SOURCE_STATE_H
#define WSC_DATA_SOURCE_STATE_H
#include "encoder_samples.h"
#include "length_buckets.h"
#include "pair_samples.h"

#include <wsc/data.h>
#include <wsc/store.h>

/** Most samples of a source, and of an epoch. */
#define DATA_MAX_SAMPLES ((int64_t)1 << 62)

struct data_file {
    char *path;
    char *targets; /* file of the targets of its translations; NULL for other samples */
    int64_t first; /* index in its data set of the first sample that begins in it */
    /* of a corpus of HDF5, else -1: its tokens, and those of the files before it */
    int64_t n_tokens, first_token;
    int64_t listed; /* data_examples_listed() */
    struct store_samples *open;
    struct data_pairs *pairs;       /* open file of pairs, instead of `open` */
    struct data_examples *examples; /* open file of encoders, never closed */
    int64_t used;                   /* data_source.tick of its last use */
};

/* A data set: the files of its directories, or a subset of their samples. */
struct data_set {
    int first_file, n_files;
    int64_t n;      /* number of samples in its files */
    char type[40];  /* of a corpus of HDF5: store_samples_type() of its files; else empty */
    int64_t n_used; /* number of samples in its subset */
    int n_ranges;
    /* first sample of each range; number of samples in the ranges before it */
    int64_t from[ZOO_MAX_RANGES], n_before[ZOO_MAX_RANGES];
    int64_t n_epoch; /* number of its samples in an epoch of the mixture */
};

struct data_source {
    struct data_file *file;
    int n_files, room, n_open;
    struct data_set *set;
    int n_sets;
    int64_t n;       /* samples of an epoch, without the limit num_samples */
    int64_t n_epoch; /* samples of an epoch, with the limit */
    int64_t T;       /* tokens of a sample in the files */
    /* of these, tokens of the source, which come first: T but for samples of encoder-decoders */
    int64_t T_source;
    int64_t sinks; /* number of sink tokens that are put before them */
    int64_t sink_id, tick;
    int64_t vocab, target_vocab; /* limits of the ids of sources, and of targets */
    bool shuffle, repeat;
    bool packed;            /* a sample has several packed texts */
    bool tokens_alone;      /* its files have tokens without HDF5 */
    int n_rows;             /* rows of a sequence: 3; with spans or for encoders 5; for both 7 */
    int sequences;          /* sequences of a sample: 1, or 2 for a pair */
    const char *length_key; /* zoo_input_length_key() of the input; borrowed */
    const char *section;    /* of the params: train_input or eval_input; static */
    uint64_t seed;
    int32_t *sample;                     /* (sequences, rows, T) */
    struct data_buckets *buckets;        /* NULL: batches of samples in their order */
    struct data_examples_shared *shared; /* for encoders; NULL: samples of GPT */
    int64_t n_labels, n_types, n_classes;
    bool mean_of_text;     /* each text of a pair needs a token that counts in the loss */
    int64_t n_predictions; /* most masked tokens of a sample; 0: any number */
    float target;          /* target of the current sample */
};

/** List the files of data set @p k and append them to s->file. WSC_IO: a folder cannot be listed,
 * or has no files. */
enum wsc_err data_source_list(struct data_source *s, const struct zoo_input *input,
                              int k) WSC_CHECKED;
/** Check file @p f of @p set before the run (rows, length), and add its number of samples to @p
 * set. Errors name the file. */
enum wsc_err data_source_look(struct data_source *s, struct data_set *set,
                              struct data_file *f) WSC_CHECKED;
/** Read sample @p i of @p set, counted over its files, into s->sample. @p g: number of the sample
 * in the stream. *@p from: the file that has it. Values are not checked. */
enum wsc_err data_source_fetch(struct data_source *s, const struct data_set *set, int64_t i,
                               int64_t g, const struct data_file **from) WSC_CHECKED;
/** Find token @p at of the stream of tokens that begins with the corpus @p f: *@p from, the file
 *  that has it, *@p in_file, its index there, and its digits for a message, also beyond int32.
 *  WSC_IO. */
enum wsc_err data_source_token(struct data_source *s, const struct data_file *f, int64_t at,
                               const struct data_file **from, int64_t *in_file,
                               char text[STORE_DIGITS]) WSC_CHECKED;
/** Close and forget all files. */
void data_source_close_files(struct data_source *s);

/** Select the samples of @p set that are in @p subset; without a subset, all. */
void data_source_choose(struct data_set *set, const struct zoo_subset *subset);
/** Compute the number of samples of each data set in an epoch of a mixture. WSC_CONFIG. */
enum wsc_err data_source_mix(struct data_source *s, const struct zoo_input *input) WSC_CHECKED;
/** Element @p i of epoch @p epoch, in [0, s->n). */
int64_t data_source_order(const struct data_source *s, int64_t i, uint64_t epoch);
/** The data set of element @p at of an epoch; *@p i: the index of the sample in the files of the
 * set. */
const struct data_set *data_source_find(const struct data_source *s, int64_t at, int64_t *i);

/** Rows of sequence @p k of the sample just read: (s->n_rows, s->T). */
int32_t *data_source_rows(const struct data_source *s, int k);
/** Check the sample just read, sample @p i of the data set of @p f: values are used as indices
 *  later.  WSC_FORMAT names file, sample and position. */
enum wsc_err data_source_check(struct data_source *s, const struct data_file *f,
                               int64_t i) WSC_CHECKED;
#endif
