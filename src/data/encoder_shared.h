/** What the files of an input have in common: the vocabulary and the labels that it names.
 *
 *  encoder_samples.c has one of these for all files of an input. */
#ifndef WSC_DATA_ENCODER_SHARED_H
#define WSC_DATA_ENCODER_SHARED_H
#include "pair_texts.h"
#include "token_labels.h"
#include "wordpiece.h"

#include <wsc/zoo.h>

struct data_examples_shared {
    const struct zoo_input *in;
    int64_t T, vocab;
    struct data_wordpiece *words;  /* NULL: the files have ids */
    struct data_vocabulary tokens; /* of pairs from lines of tokens */
    struct data_pair_rules pairs;
    struct data_labels labels; /* of token classification */
    int32_t *scratch;          /* (3, T) */
};

/* The data that a format of samples needs. */
struct data_examples_needs {
    bool words, lines, labels;
};
/** Read the files of @p input that @p needs requires; @p input is borrowed until the end. @p vocab
 *  bounds token ids. *@p out is NULL after an error. */
enum wsc_err data_shared_open(struct data_examples_shared **out, const struct zoo_input *input,
                              int64_t T, int64_t vocab,
                              const struct data_examples_needs *needs) WSC_CHECKED;
/** Free the object and set the pointer to NULL, which it may be before. */
void data_shared_close(struct data_examples_shared **shared);
#endif
