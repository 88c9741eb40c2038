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
/** Lock @p folder, which is created if missing, and resume the state of an earlier run with equal
 *  @p make and @p inputs. Both are borrowed. */
enum wsc_err data_corpus_open(struct data_corpus **out, const char *folder,
                              const struct data_make *make,
                              const struct data_inputs *inputs) WSC_CHECKED;
/** NULL allowed; the files stay. */
void data_corpus_close(struct data_corpus **corpus);
/** Identity of the request, by data_state_identity(). */
uint64_t data_corpus_identity(const struct data_corpus *c);
/** Tokenize the remaining documents. */
enum wsc_err data_corpus_make(struct data_corpus *c) WSC_CHECKED;
/** Ids [first, first + n) of the finished corpus. */
enum wsc_err data_corpus_read(struct data_corpus *c, int64_t first, int64_t n,
                              int32_t *ids) WSC_CHECKED;
/** Largest possible id plus 1, over tokenizer, BOS, EOS and padding. */
int64_t data_make_vocab_size(const struct data_make *make);
struct data_corpus_counts {
    int64_t n_tokens, n_documents, n_empty, n_bytes, n_resumed;
};
struct data_corpus_counts data_corpus_counts(const struct data_corpus *c);
#endif
