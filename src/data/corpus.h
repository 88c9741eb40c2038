/** The tokens of all documents in a file, inside `data`: the first half of making a dataset, and
 *  what makes it possible to resume after a crash.
 *
 *  `<folder>/tokens` has the ids one after the other, `<folder>/state` says how far they are right
 *  and where in the inputs to resume.
 */
#ifndef WSC_DATA_CORPUS_H
#define WSC_DATA_CORPUS_H
#include "documents.h"

struct data_corpus;
/** Lock @p folder (made when missing), and take up what a run of the same @p make on the same
 *  @p inputs left there.  Both are borrowed. */
enum wsc_err data_corpus_open(struct data_corpus **out, const char *folder,
                              const struct data_make *make,
                              const struct data_inputs *inputs) WSC_CHECKED;
/** NULL allowed; the files stay. */
void data_corpus_close(struct data_corpus **corpus);
/** Did an earlier run of the same request leave something? */
bool data_corpus_resumed(const struct data_corpus *c);
/** Tokenize what is left. */
enum wsc_err data_corpus_make(struct data_corpus *c) WSC_CHECKED;
/** Ids [first, first + n) of the finished corpus. */
enum wsc_err data_corpus_read(struct data_corpus *c, int64_t first, int64_t n,
                              int32_t *ids) WSC_CHECKED;
/** Largest id that can occur and 1: of tokenizer, BOS, EOS and padding. */
int64_t data_make_vocab_size(const struct data_make *make);
struct data_corpus_counts {
    int64_t n_tokens, n_documents, n_empty, n_bytes, n_resumed;
};
struct data_corpus_counts data_corpus_counts(const struct data_corpus *c);
#endif
