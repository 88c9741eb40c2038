/** Properties of a tokenizer (kind, vocabulary, identity of its files), for the description of a
 *  dataset and to resume its making. */
#ifndef WSC_DATA_TOKENIZER_H
#define WSC_DATA_TOKENIZER_H
#include "wordpiece.h"

#include <wsc/data.h>

#include <stdint.h>

/** "byte", "bpe" or "wordpiece". */
const char *data_tokenizer_kind(const struct data_tokenizer *t);
/** Largest id plus 1. */
int64_t data_tokenizer_vocab_size(const struct data_tokenizer *t);
/** A number that changes with the files of the tokenizer. */
uint64_t data_tokenizer_identity(const struct data_tokenizer *t);
/** The vocabulary of WordPiece; NULL of others. */
const struct data_wordpiece *data_tokenizer_wordpiece(const struct data_tokenizer *t);
#endif
