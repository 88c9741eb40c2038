/** How far `wsc data` is with a dataset: the file `<folder>/state`, from which a run that was
 * killed resumes. corpus.c writes it. */
#ifndef WSC_DATA_MAKE_STATE_H
#define WSC_DATA_MAKE_STATE_H
#include "documents.h"

/** Bytes of a block of tokens that is hashed. */
enum { DATA_STATE_BLOCK = 1 << 20 };

struct data_state {
    uint64_t identity;       /**< hash of request and inputs (data_state_identity()) */
    int64_t done;            /**< 1: all documents are tokenized */
    struct data_place place; /**< document in which a run resumes */
    /** bytes of this document that are tokenized; -1: resume between documents */
    int64_t used;
    int64_t n_tokens, n_documents, n_empty, n_bytes;
    /** hash of the complete blocks of tokens; hash including the last, incomplete block */
    uint64_t chain, sum;
};
uint64_t data_state_chain(uint64_t chain, const unsigned char *block, int64_t n);
/** Hash over everything that determines the tokens and their division into samples. */
enum wsc_err data_state_identity(const struct data_make *make, const struct data_inputs *inputs,
                                 uint64_t *identity) WSC_CHECKED;
/** Write a temporary file, sync and rename it: a crash leaves the old state or the new one. */
enum wsc_err data_state_write(const struct data_state *state, const char *folder) WSC_CHECKED;
/** *@p good false: there is no state, or a damaged one. */
enum wsc_err data_state_read(struct data_state *state, const char *folder, bool *good) WSC_CHECKED;
#endif
