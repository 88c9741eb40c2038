/** How far the making of a dataset is, inside `data`: `<folder>/state`, from which a run that was
 *  killed resumes.  corpus.c writes it. */
#ifndef WSC_DATA_MAKE_STATE_H
#define WSC_DATA_MAKE_STATE_H
#include "documents.h"

/** Tokens are hashed in blocks of so many bytes. */
enum { DATA_STATE_BLOCK = 1 << 20 };

struct data_state {
    uint64_t identity;       /**< of request and inputs */
    int64_t done;            /**< 1: all documents are tokenized */
    struct data_place place; /**< of the document to resume in */
    int64_t used;            /**< bytes of it that are tokenized; -1: resume between documents */
    int64_t n_tokens, n_documents, n_empty, n_bytes;
    uint64_t chain, sum; /**< of the whole blocks of tokens; with the part of one after them */
};
uint64_t data_state_chain(uint64_t chain, const unsigned char *block, int64_t n);
/** Hash over all that decides which tokens are made and how they are cut. */
enum wsc_err data_state_identity(const struct data_make *make, const struct data_inputs *inputs,
                                 uint64_t *identity) WSC_CHECKED;
/** Write beside, sync, rename. */
enum wsc_err data_state_write(const struct data_state *state, const char *folder) WSC_CHECKED;
/** *good false: there is none, or a damaged one. */
enum wsc_err data_state_read(struct data_state *state, const char *folder, bool *good) WSC_CHECKED;
#endif
