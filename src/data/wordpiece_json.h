/** The vocabulary of a tokenizer.json of the WordPiece kind: wordpiece_json.c reads it, wordpiece.c
 *  cuts texts with it. */
#ifndef WSC_DATA_WORDPIECE_JSON_H
#define WSC_DATA_WORDPIECE_JSON_H
#include <wsc/err.h>

#include <stdbool.h>
#include <stddef.h>

/** True when @p path ends with `.json`. */
bool data_wordpiece_is_json(const char *path);
/** Read the file and return it as the text of a vocab.txt, one token per line in the order of ids,
 *  owned by the caller. Errors name the member that differs from BERT's: a model that is not
 *  WordPiece, a normalizer whose lower case is not @p lower, ids with gaps. */
enum wsc_err data_wordpiece_json(const char *path, bool lower, char **lines, size_t *n) WSC_CHECKED;
#endif
