// SPDX-License-Identifier: Apache-2.0
/* Are all ranks at the same job?  Params and cluster files are read by rank 0 alone and shared, so
 * that the effective values on all ranks follow from three things that each rank has for itself:
 * the program, its command line, and the samples that it reads.  They are compared with those of
 * one rank before the first pass.  Samples are compared by a hash of their number and of a few of
 * them, spread over an epoch: a copy made of another text or with another seed is found, one that
 * differs in a single sample need not be. */
#include "job_same.h"

#include <wsc/data.h>
#include <wsc/hash.h>
#include <wsc/mem.h>

#include <string.h>

/* ---- program and command line ---------------------------------------------------------------- */

/* Version and words of the command line, each with its NUL. */
static enum wsc_err write_words(int argc, char **argv, char **text, int64_t *n)
{
    const char *version = out_version();
    size_t size = strlen(version) + 1, at = size;
    for (int i = 0; i < argc; i++)
        size += strlen(argv[i]) + 1;
    *text = wsc_alloc(WSC_MEM_RUN, size, 1);
    if (!*text) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "command line");
    memcpy(*text, version, at);
    for (int i = 0; i < argc; i++) {
        const size_t bytes = strlen(argv[i]) + 1;
        memcpy(*text + at, argv[i], bytes);
        at += bytes;
    }
    *n = (int64_t)size;
    return WSC_OK;
}

static const char *next_word(const char *word, const char *end)
{
    return word < end ? word + strlen(word) + 1 : end;
}

static enum wsc_err raise_word(const struct comm *comm, const char *here, const char *there)
{
    const int rank = comm_rank(comm);
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                  "rank %d on %s was started with %s where rank 0 on %s has %s",
                                  rank, comm_host_name(comm, rank), here ? here : "nothing",
                                  comm_host_name(comm, 0), there ? there : "nothing"),
                        "all ranks need one command line");
}

static enum wsc_err compare_words(const struct comm *comm, const char *here, int64_t n_here,
                                  const char *there, int64_t n_there)
{
    const char *end_here = here + n_here, *end_there = there + n_there;
    const int rank = comm_rank(comm);
    if (strcmp(here, there) != 0)
        return wsc_err_hint(WSC_RAISE(WSC_CONFIG, "rank %d on %s runs %s, rank 0 on %s runs %s",
                                      rank, comm_host_name(comm, rank), here,
                                      comm_host_name(comm, 0), there),
                            "all hosts need one version of the program");
    while (here < end_here || there < end_there) {
        const bool same = here < end_here && there < end_there && !strcmp(here, there);
        if (!same)
            return raise_word(comm, here < end_here ? here : NULL,
                              there < end_there ? there : NULL);
        here = next_word(here, end_here);
        there = next_word(there, end_there);
    }
    return WSC_OK;
}

enum wsc_err job_compare_commands(struct comm *comm, int argc, char **argv, bool *report)
{
    char *here = NULL, *there = NULL;
    int64_t n_here = 0, n_there = 0;
    *report = true;
    if (comm_size(comm) == 1) return WSC_OK;
    enum wsc_err rc = comm_agree(comm, write_words(argc, argv, &here, &n_here), report);
    if (!rc) {
        there = here;
        n_there = n_here;
        rc = comm_share(comm, &there, &n_there);
        if (!rc && comm_rank(comm)) rc = compare_words(comm, here, n_here, there, n_there);
        rc = comm_agree(comm, rc, report);
    }
    if (there != here) wsc_free(there);
    wsc_free(here);
    return rc;
}

/* ---- data ------------------------------------------------------------------------------------ */

static uint64_t hash_batch(const struct data_batch *b, uint64_t hash)
{
    const int32_t *const row[] = {b->input_ids, b->labels, b->mask, b->attention_span,
                                  b->position_ids};
    for (int r = 0; r < (int)(sizeof row / sizeof *row); r++)
        if (row[r]) hash = wsc_hash64(row[r], (size_t)(b->n * b->T) * sizeof *row[r], hash);
    return hash;
}

/* Hash the number of samples and at most N_LOOKS of them, evenly spread over the first epoch.
 * *@p hash is positive, so that 0 stands for a rank without data and comm_max() finds a hash. */
static enum wsc_err hash_samples(struct data_source *source, int64_t T, int64_t *hash)
{
    enum { N_LOOKS = 32 };
    const int64_t n = data_source_n_samples(source), looks = n < N_LOOKS ? n : N_LOOKS;
    struct data_batch *batch = NULL;
    uint64_t h = wsc_hash64(&n, sizeof n, 0);
    TRY(data_batch_create(&batch, 1, T));
    enum wsc_err rc = WSC_OK;
    for (int64_t i = 0; i < looks && !rc; i++) {
        rc = data_source_read(source, n / looks * i, 1, batch);
        if (!rc) h = hash_batch(batch, h);
    }
    data_batch_destroy(&batch);
    *hash = (int64_t)(h >> 2) + 1;
    return rc;
}

/* Every rank that reads samples against the first one that does. */
static enum wsc_err compare_samples(const struct job_state *s, const char *section,
                                    struct data_source *source, bool *report)
{
    const int rank = comm_rank(s->comm), size = comm_size(s->comm);
    int64_t hash = 0;
    enum wsc_err rc = source ? hash_samples(source, s->cluster->model->T, &hash) : WSC_OK;
    TRY(comm_agree(s->comm, rc, report));
    const int first = size - (int)comm_max(s->comm, source ? size - rank : 0);
    const int64_t expected = comm_max(s->comm, rank == first ? hash : 0);
    if (source && hash != expected)
        rc = wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                    "%s: the samples of rank %d on %s are not those of rank %d on "
                                    "%s",
                                    section, rank, comm_host_name(s->comm, rank), first,
                                    comm_host_name(s->comm, first)),
                          "copy the data_dir of one host to all, or put it on a file system that "
                          "they share");
    return comm_agree(s->comm, rc, report);
}

enum wsc_err job_compare_data(const struct job_state *s, bool *report)
{
    if (!s->job->values || comm_size(s->comm) == 1) return WSC_OK;
    TRY(compare_samples(s, "train_input", s->train_source, report));
    return compare_samples(s, "eval_input", s->eval_source, report);
}
