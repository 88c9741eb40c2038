/** Pairs of sequences from lines of tokens: span corruption of one file's lines (the Model Zoo's
 *  T5DynamicDataProcessor), or two files line by line (TransformerDynamicDataProcessor). */
#ifndef WSC_DATA_PAIR_TEXTS_H
#define WSC_DATA_PAIR_TEXTS_H
#include "token_lines.h"

#include <wsc/err.h>

#include <stdint.h>

/** How tokens become samples; borrowed until the files are closed. */
struct data_pair_rules {
    const struct data_vocabulary *words;
    int64_t T_source, T_target; /**< tokens of a sample */
    int64_t extra_ids;          /**< sentinels after the vocabulary */
    uint64_t seed;              /**< of the spans */
};
struct data_pair_texts;
/** Open the lines at @p path; @p targets: the file of targets, NULL: spans of the lines are the
 *  targets.  WSC_CONFIG when targets of spans do not fit, WSC_FORMAT when the two files do not have
 *  as many lines.  *@p out is NULL after an error. */
enum wsc_err data_pair_texts_open(struct data_pair_texts **out, const char *path,
                                  const char *targets,
                                  const struct data_pair_rules *rules) WSC_CHECKED;
/** Free the object and set the pointer to NULL, which it may be before. */
void data_pair_texts_close(struct data_pair_texts **texts);
/** Number of samples: pieces of lines, or pairs of lines of which both fit. */
int64_t data_pair_texts_n(const struct data_pair_texts *t);
/** Number of lines of the file, or of both. */
int64_t data_pair_texts_lines(const struct data_pair_texts *t);
/** Pairs of lines of which one is empty or too long. */
int64_t data_pair_texts_left_out(const struct data_pair_texts *t);
/** Read sample @p i as rows (DATA_ENCODER_ROWS, T_source + T_target), which must be 0 before. @p
 *  draw is the number of its random choices. */
void data_pair_texts_read(struct data_pair_texts *t, int64_t i, uint64_t draw, int32_t *rows);
#endif
