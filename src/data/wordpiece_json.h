/** The vocabulary of a tokenizer.json of the WordPiece kind: wordpiece_json.c reads it, wordpiece.c
 *  cuts texts with it. */
#ifndef WSC_DATA_WORDPIECE_JSON_H
#define WSC_DATA_WORDPIECE_JSON_H
#include <wsc/err.h>

#include <stdbool.h>
#include <stddef.h>

/** Is @p path called `*.json`? */
bool data_wordpiece_is_json(const char *path);
/** Read the file as the text of a vocab.txt, one token a line in the order of ids, owned by the
 *  caller.  Errors name the member that is another than BERT's: a model that is no WordPiece, a
 *  normalizer whose lower case is not @p lower, ids that leave out numbers. */
enum wsc_err data_wordpiece_json(const char *path, bool lower, char **lines, size_t *n) WSC_CHECKED;
#endif
