// SPDX-License-Identifier: Apache-2.0
/* Are all ranks at the same job?  Params and cluster files are read by rank 0 alone and shared, so
 * that the effective values on all ranks follow from three things that each rank has for itself:
 * the program, its command line, and the sample files.  They are compared with those of one rank
 * before the first pass.  Sample files are compared by number, sizes and a hash: of all their bytes
 * up to MOST_BYTES together, beyond it of blocks that are spread evenly over each file
 * (src/data/file_sum.c), so that the start takes a bounded time. */
#include "job_same.h"

#include <wsc/data.h>
#include <wsc/mem.h>
#include <wsc/num.h>
#include <wsc/out.h>

#include <stdio.h>
#include <string.h>

/* ---- program and command line ---------------------------------------------------------------- */

/* Version with that of the products, which decides on bits, and words of the command line, each
 * with its NUL. */
static enum wsc_err write_words(int argc, char **argv, char **text, int64_t *n)
{
    char version[160];
    (void)snprintf(version, sizeof version, "%s with %s", out_version(), num_library());
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

/* Read at the start by each rank that reads samples: a few seconds from a local disk. */
static const int64_t MOST_BYTES = (int64_t)2 << 30;

struct sums {
    struct data_file_sum *of; /* owned; NULL: this rank reads no samples */
    int n;
    int first; /* the first rank that reads samples */
};

/* What is compared of a file, positive: comm_max() then finds that of the one rank which has it. */
static int64_t size_of(const struct data_file_sum *sum)
{
    return sum->size + 1;
}
static int64_t hash_of(const struct data_file_sum *sum)
{
    return (int64_t)(sum->hash >> 2) + 1;
}

static enum wsc_err raise_files(const struct job_state *s, const char *section,
                                const struct sums *sums, const char *what)
{
    const int rank = comm_rank(s->comm);
    return wsc_err_hint(WSC_RAISE(WSC_CONFIG,
                                  "%s: rank %d on %s does not have the sample files of rank %d on "
                                  "%s: %s",
                                  section, rank, comm_host_name(s->comm, rank), sums->first,
                                  comm_host_name(s->comm, sums->first), what),
                        "copy the data_dir of one host to all, or put it on a file system that "
                        "they share");
}

/* One property of all files; every rank with samples has the same number of them. */
static enum wsc_err compare_files(const struct job_state *s, const char *section,
                                  const struct sums *sums, const char *what,
                                  int64_t (*of)(const struct data_file_sum *sum))
{
    const int n = (int)comm_max(s->comm, sums->n);
    char text[512] = "";
    for (int i = 0; i < n; i++) {
        const int64_t here = sums->of ? of(&sums->of[i]) : 0;
        const int64_t there = comm_max(s->comm, comm_rank(s->comm) == sums->first ? here : 0);
        if (sums->of && here != there && !*text)
            (void)snprintf(text, sizeof text, "%s of %s", what, sums->of[i].path);
    }
    return *text ? raise_files(s, section, sums, text) : WSC_OK;
}

static enum wsc_err compare_sums(const struct job_state *s, const char *section,
                                 const struct sums *sums, bool *report)
{
    const bool is_first = comm_rank(s->comm) == sums->first;
    const int64_t n = comm_max(s->comm, is_first ? sums->n : 0);
    enum wsc_err rc = WSC_OK;
    if (sums->of && sums->n != n) {
        char text[64];
        (void)snprintf(text, sizeof text, "%d files, not %lld", sums->n, (long long)n);
        rc = raise_files(s, section, sums, text);
    }
    TRY(comm_agree(s->comm, rc, report));
    rc = compare_files(s, section, sums, "the size", size_of);
    TRY(comm_agree(s->comm, rc, report));
    rc = compare_files(s, section, sums, "the content", hash_of);
    return comm_agree(s->comm, rc, report);
}

/* Every rank that reads samples against the first one that does. */
static enum wsc_err compare_samples(const struct job_state *s, const char *section,
                                    const struct data_source *source, bool *report)
{
    const int rank = comm_rank(s->comm), size = comm_size(s->comm);
    struct sums sums = {0};
    enum wsc_err rc = source ? data_source_sums(source, MOST_BYTES, &sums.of, &sums.n) : WSC_OK;
    rc = comm_agree(s->comm, rc, report);
    if (!rc) {
        sums.first = size - (int)comm_max(s->comm, source ? size - rank : 0);
        rc = compare_sums(s, section, &sums, report);
    }
    wsc_free(sums.of);
    return rc;
}

enum wsc_err job_compare_data(const struct job_state *s, bool *report)
{
    if (!s->job->values || comm_size(s->comm) == 1) return WSC_OK;
    TRY(compare_samples(s, "train_input", s->train.source, report));
    return compare_samples(s, "eval_input", s->eval.source, report);
}
