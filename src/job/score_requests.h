/** Requests of an evaluation harness: which tokens of which texts a model has to score.
 *  score_requests.c reads them, job_scoring.c runs them and adds up the results. */
#ifndef WSC_JOB_SCORE_REQUESTS_H
#define WSC_JOB_SCORE_REQUESTS_H
#include <wsc/data.h>
#include <wsc/err.h>

#include <stdint.h>

/** What the line of a document asks for. */
enum job_score_kind {
    SCORE_CHOICES,      /**< the most likely of several continuations of a context */
    SCORE_CONTINUATION, /**< the probability of one continuation */
    SCORE_TEXT,         /**< the probability of a whole text, in windows of the context length */
    SCORE_N_KINDS
};
/** The harness' name of @p kind. */
const char *job_score_kind_name(enum job_score_kind kind);
/** A text whose log-likelihood is asked for, and what a model gave it. */
struct job_score_request {
    int64_t first_sample, n_samples; /**< windows; one unless the kind is SCORE_TEXT */
    int64_t n_chars;                 /**< characters of the choice, without the blank before it */
    int64_t n_words, n_bytes;        /**< of a whole text */
    double nats;                     /**< minus its log-likelihood */
    int64_t n_tokens, n_correct;     /**< scored tokens; those with the largest probability */
};
/** A line: requests [first, first + n). */
struct job_score_document {
    enum job_score_kind kind;
    int64_t id; /**< doc_id, else the number of the line from 0 */
    int first, n;
    int gold; /**< of SCORE_CHOICES: which choice is right */
};
/** The requests of a file with their samples, (n_samples, 3, T): tokens, loss mask, labels. */
struct job_score_requests {
    struct job_score_document *document; /**< owned */
    struct job_score_request *request;   /**< owned */
    int32_t *sample;                     /**< owned */
    int n_documents, n_requests, document_room, request_room;
    int64_t n_samples, sample_room, T;
    int64_t of_kind[SCORE_N_KINDS]; /**< documents */
};
/** How texts become samples. */
struct job_score_tokens {
    struct data_tokenizer *tokenizer; /**< borrowed */
    int64_t T, V;
    int64_t prefix; /**< token before a text without context; -1: none */
};
/** Read the JSON Lines file @p path; job_score_requests_fini() also after an error.  Errors name
 * file and line. */
enum wsc_err job_score_requests_read(struct job_score_requests *r, const char *path,
                                     const struct job_score_tokens *tokens) WSC_CHECKED;
void job_score_requests_fini(struct job_score_requests *r);
#endif
