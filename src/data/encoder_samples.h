/** Samples of encoders, one file of the Model Zoo's data loaders for BERT at a time: input ids,
 *  labels and where they count, padding, token types, and the target of the sequence. */
#ifndef WSC_DATA_ENCODER_SAMPLES_H
#define WSC_DATA_ENCODER_SAMPLES_H
#include "wordpiece.h"

#include <wsc/err.h>
#include <wsc/zoo.h>

#include <stdbool.h>
#include <stdint.h>

/** Data that the files of an input share. */
struct data_examples_shared;
/** Read the vocabulary and the labels that @p input names; @p input is borrowed until the end. @p
 *  vocab bounds token ids. *@p out is NULL after an error. */
enum wsc_err data_examples_share(struct data_examples_shared **out, const struct zoo_input *input,
                                 int64_t T, int64_t vocab) WSC_CHECKED;
/** Free the object and set the pointer to NULL, which it may be before. */
void data_examples_unshare(struct data_examples_shared **shared);

/** A file of samples. */
struct data_examples;
/** Open the file at @p path; @p targets: that of the targets of translations, else NULL.  @p shared
 *  is borrowed.  *@p out is NULL after an error. */
enum wsc_err data_examples_open(struct data_examples **out, const char *path, const char *targets,
                                struct data_examples_shared *shared) WSC_CHECKED;
/** Free the object and set the pointer to NULL, which it may be before. */
void data_examples_close(struct data_examples **examples);
int64_t data_examples_n(const struct data_examples *e);
/** What the list of a folder counts: lines of tokens, from which samples are made, else samples. */
int64_t data_examples_lines(const struct data_examples *e);
/** True when that is a number of lines. */
bool data_examples_are_lines(const struct data_examples *e);
/** Translations that are no sample, because a side is empty or too long. */
int64_t data_examples_left_out(const struct data_examples *e);
/** Read sample @p i as rows (DATA_ENCODER_ROWS, T), for packed texts (DATA_PACKED_ROWS, T), and its
 *  target. @p draw is the number of its random choices: an equal number selects equal tokens. */
enum wsc_err data_examples_read(struct data_examples *e, int64_t i, uint64_t draw, int32_t *rows,
                                float *target) WSC_CHECKED;

/** True when the samples are those of all *.h5 files of a directory, which then needs no list. */
bool data_examples_are_h5(const struct zoo_input *input);
/** The files of directory @p dir: number @p k of them as a name in *@p name, owned by the caller;
 *  NULL after the last one. */
enum wsc_err data_examples_file(const struct zoo_input *input, const char *dir, int k,
                                char **name) WSC_CHECKED;
enum { DATA_NOT_LISTED = -1 };
/** The number that the list has for file number @p k, see data_examples_lines(), or
 *  DATA_NOT_LISTED. */
enum wsc_err data_examples_listed(const struct zoo_input *input, const char *dir, int k,
                                  int64_t *n) WSC_CHECKED;
/** Path of the targets of translations whose sources are file number @p k: a name of meta.dat, in
 *  tgt_data_dir or in @p dir.  Owned by the caller; NULL for other samples.  WSC_FORMAT: meta.dat
 *  names none. */
enum wsc_err data_examples_targets(const struct zoo_input *input, const char *dir, int k,
                                   char **path) WSC_CHECKED;
#endif
