/** A source of samples from inside: its data sets, their files, and what its parts do for one
 *  another.  batch_source.c opens a source and fills batches; source_files.c has the files,
 *  source_order.c the order of an epoch, source_values.c what samples may hold. */
#ifndef WSC_DATA_SOURCE_STATE_H
#define WSC_DATA_SOURCE_STATE_H
#include "encoder_samples.h"
#include "length_buckets.h"
#include "pair_samples.h"

#include <wsc/data.h>

/** Most samples of a source, and of an epoch. */
#define DATA_MAX_SAMPLES ((int64_t)1 << 62)

struct data_file {
    char *path;
    int64_t first; /* index in its data set of its first sample */
    struct store_samples *open;
    struct data_pairs *pairs;       /* open, instead of `open` */
    struct data_examples *examples; /* of encoders, open once and for all */
    int64_t used;                   /* tick of its last use */
};

/* A data set: the files of its directories, of which parts may be left out. */
struct data_set {
    int first_file, n_files;
    int64_t n;      /* samples in its files */
    int64_t n_used; /* of them in its subset */
    int n_ranges;
    int64_t from[ZOO_MAX_RANGES], n_before[ZOO_MAX_RANGES]; /* of each range: its first sample,
                                                                 samples of the ranges before */
    int64_t n_epoch; /* samples that it gives to an epoch of the mixture */
};

struct data_source {
    struct data_file *file;
    int n_files, room, n_open;
    struct data_set *set;
    int n_sets;
    int64_t n;       /* samples of an epoch, before num_samples */
    int64_t n_epoch; /* with it */
    int64_t T;       /* tokens of a sample in the files */
    int64_t sinks;   /* put before them */
    int64_t sink_id, vocab, tick;
    bool shuffle, repeat;
    bool packed;     /* several texts in a sample */
    int n_rows;      /* of a sequence: 3, with spans and of encoders 5, of both 7 */
    int sequences;   /* of a sample: 1, or 2 of a pair */
    bool own_length; /* T is that of the input, a model of pairs may know longer sequences */
    uint64_t seed;
    int32_t *sample;                     /* (sequences, rows, T) */
    struct data_buckets *buckets;        /* NULL: batches of samples in their order */
    struct data_examples_shared *shared; /* of encoders; NULL: samples of GPT */
    int64_t n_labels, n_types, n_classes;
    float target; /* of the sample */
};

/** List the files of data set @p k, after those of the sets before it.  WSC_IO: a folder that
 *  cannot be listed or holds none. */
enum wsc_err data_source_list(struct data_source *s, const struct zoo_input *input,
                              int k) WSC_CHECKED;
/** Look at file @p f of @p set once before the run: rows, length and number of samples, which
 *  @p set counts.  Errors name the file. */
enum wsc_err data_source_look(struct data_source *s, struct data_set *set,
                              struct data_file *f) WSC_CHECKED;
/** Read sample @p i of @p set, counted over its files, number @p g of the stream, into s->sample;
 *  *@p from: the file that has it.  Values are not checked. */
enum wsc_err data_source_fetch(struct data_source *s, const struct data_set *set, int64_t i,
                               int64_t g, const struct data_file **from) WSC_CHECKED;
/** Close and forget all files. */
void data_source_close_files(struct data_source *s);

/** Which samples of @p set are in @p subset, all without one. */
void data_source_choose(struct data_set *set, const struct zoo_subset *subset);
/** How many samples each data set gives to an epoch of a mixture.  WSC_CONFIG. */
enum wsc_err data_source_mix(struct data_source *s, const struct zoo_input *input) WSC_CHECKED;
/** Element @p i of epoch @p epoch, in [0, s->n). */
int64_t data_source_order(const struct data_source *s, int64_t i, uint64_t epoch);
/** The data set of element @p at, and which sample of its files it is, *@p i. */
const struct data_set *data_source_find(const struct data_source *s, int64_t at, int64_t *i);

/** Rows of sequence @p k of the sample just read: (s->n_rows, s->T). */
int32_t *data_source_rows(const struct data_source *s, int k);
/** Check the sample just read, sample @p i of the data set of @p f: values are used as indices
 *  later.  WSC_FORMAT names file, sample and position. */
enum wsc_err data_source_check(struct data_source *s, const struct data_file *f,
                               int64_t i) WSC_CHECKED;
#endif
