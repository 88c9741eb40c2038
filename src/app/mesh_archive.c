// SPDX-License-Identifier: Apache-2.0
/* Snapshots of `wsc mesh KERNEL`: the archive of <wsc/mesh_snapshot.h> as an HDF5 file of
 * <wsc/store.h>, which all ranks write together under a temporary name.  The file says which
 * kernel with which sizes it belongs to, and which build of the program wrote it; resuming checks
 * both, and every checksum.  cmd_mesh.c calls it. */
#include "mesh_archive.h"

#include "options.h"
#include "process.h"

#include <wsc/file.h>
#include <wsc/hash.h>
#include <wsc/job.h>
#include <wsc/mem.h>
#include <wsc/mesh_snapshot.h>
#include <wsc/out.h>
#include <wsc/stop.h>
#include <wsc/store.h>
#include <wsc/text.h>

#include <stdio.h>
#include <string.h>

#define BUILD_TEXT "wsc.mesh.build"

enum { BUILD_BYTES = 32, DIFFERENCE_BYTES = 80 };
static const char before_option[] = " --";

struct app_snapshots {
    const char *path, *resume; /* NULL: none */
    struct store_group group;
    struct store_file *in, *out; /* owned */
    struct mesh_snapshots *snapshots;
    struct wsc_text of; /* owned: the case, all of it */
    char build[BUILD_BYTES];
};

/* ---- what a snapshot belongs to -------------------------------------------------------------- */

/* Word @p i of a list of words that are separated by blanks. */
static void add_word(struct wsc_text *text, const char *words, int i)
{
    for (; i > 0; i--)
        words += strcspn(words, " ") + 1;
    wsc_text_bytes(text, words, strcspn(words, " "));
}

/* An option with its value; of a file only whether it is written, since its name may be another. */
static void add_option(struct wsc_text *text, const struct app_option *row, const void *request)
{
    const void *at = (const char *)request + row->at;
    const char *const *name = at;
    wsc_text_add(text, "%s%s ", before_option, row->name);
    if (row->type == APP_INT)
        wsc_text_add(text, "%lld", (long long)*(const int64_t *)at);
    else if (row->type == APP_REAL)
        wsc_text_add(text, "%.17g", *(const double *)at);
    else if (row->type == APP_CHOICE)
        add_word(text, row->words, *(const int *)at);
    else if (row->type == APP_TEXT)
        wsc_text_add(text, "%s", *name ? *name : "-");
    else
        wsc_text_add(text, "%s",
                     (row->type == APP_FLAG ? *(const bool *)at : *name != NULL) ? "yes" : "no");
}

/* The kernel, the fabric, the machine with a hash of its values, and every option on which cycles,
 * values or what is watched may depend. */
static enum wsc_err describe_case(const struct app_mesh *o, struct wsc_text *text)
{
    wsc_text_add(text, "%s%sfabric %dx%d", o->what, before_option, o->c.w, o->c.h);
    for (const struct app_option *row = app_options; row->commands; row++)
        if (row->commands == APP_ON_MESH && row->name && !row->take && !row->is_of_host)
            add_option(text, row, o);
    const struct hw_machine *machine = o->c.hw->cluster;
    wsc_text_add(text, "%smachine %s %016llx", before_option, machine->name,
                 (unsigned long long)machine->hash);
    return wsc_text_check(text);
}

/* The executable, by its bytes: tasks are called by their place in it. */
static enum wsc_err describe_build(char text[BUILD_BYTES])
{
    const int64_t most = INT64_C(1) << 30;
    char *bytes;
    size_t n;
    TRY(wsc_file_read(WSC_MEM_APP, "/proc/self/exe", most, &bytes, &n));
    (void)snprintf(text, BUILD_BYTES, "%016llx", (unsigned long long)wsc_hash64(bytes, n, 0));
    wsc_free(bytes);
    return WSC_OK;
}

/* The option of a case that begins at @p start, with the bytes from @p at, in which it differs: of
 * a long value the beginning is left out. */
static void show_option(const char *start, const char *at, char text[DIFFERENCE_BYTES])
{
    enum { BEFORE = 12, NAME = 24 };
    const char *end = strstr(start, before_option), *value = strchr(start, ' ');
    const int n = end ? (int)(end - start) : (int)strlen(start);
    if (n < DIFFERENCE_BYTES || !value || at - value <= BEFORE)
        (void)snprintf(text, DIFFERENCE_BYTES, "%.*s", n, start);
    else
        (void)snprintf(text, DIFFERENCE_BYTES, "%.*s...%.*s",
                       value - start < NAME ? (int)(value - start) + 1 : NAME, start,
                       n - (int)(at - start) + BEFORE, at - BEFORE);
}

/* The first option in which two cases differ: "--words 64" and "--words 32". */
static void first_difference(const char *a, const char *b, char text[2][DIFFERENCE_BYTES])
{
    const char *start_a = a, *start_b = b;
    for (; *a && *a == *b; a++, b++)
        if (!strncmp(a, before_option, strlen(before_option))) {
            start_a = a + 1;
            start_b = b + 1;
        }
    show_option(start_a, a, text[0]);
    show_option(start_b, b, text[1]);
}

static enum wsc_err check_texts(const struct app_snapshots *s, const char *of, const char *build)
{
    char part[2][DIFFERENCE_BYTES];
    if (strcmp(of, s->of.bytes) != 0) {
        first_difference(of, s->of.bytes, part);
        return WSC_RAISE(WSC_USAGE, "%s: a snapshot of a run with %s, not with %s", s->resume,
                         part[0], part[1]);
    }
    if (!strcmp(build, s->build)) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_FORMAT, "%s: another build of wsc wrote it", s->resume),
                        "resume with the build that wrote the snapshot");
}

/* Both texts of a file, which a checkpoint or another file does not have. */
static enum wsc_err check_file(const struct app_snapshots *s)
{
    char *of = NULL, *build = NULL;
    if (!store_has_text(s->in, APP_SNAPSHOT_CASE) || !store_has_text(s->in, BUILD_TEXT))
        return WSC_RAISE(WSC_FORMAT, "%s: no snapshot of wsc mesh", s->resume);
    enum wsc_err rc = store_get_text(s->in, APP_SNAPSHOT_CASE, &of);
    if (!rc) rc = store_get_text(s->in, BUILD_TEXT, &build);
    if (!rc) rc = check_texts(s, of, build);
    wsc_free(of);
    wsc_free(build);
    return rc;
}

/* ---- the archive ----------------------------------------------------------------------------- */

static enum wsc_err define(struct app_snapshots *s, const struct mesh_array *array, int n)
{
    for (int i = 0; i < n; i++)
        TRY(store_define(s->out, array[i].name, STORE_I64, 1, &array[i].n));
    TRY(store_describe(s->out));
    TRY(store_set_text(s->out, APP_SNAPSHOT_CASE, s->of.bytes));
    return store_set_text(s->out, BUILD_TEXT, s->build);
}

static enum wsc_err begin(void *ctx, int64_t cycles, const struct mesh_array *array, int n)
{
    struct app_snapshots *s = ctx;
    (void)cycles;
    TRY(store_create(&s->out, s->path, s->group.communicator ? &s->group : NULL));
    enum wsc_err rc = define(s, array, n);
    if (rc) store_close(&s->out);
    return rc;
}

static enum wsc_err write_words(void *ctx, const char *name, int64_t first, int64_t n,
                                const int64_t *word)
{
    struct app_snapshots *s = ctx;
    return store_write(s->out, name, first, n, word);
}

/* A rank whose part failed commits like the others: nothing is kept then. */
static enum wsc_err end(void *ctx, enum wsc_err rc)
{
    struct app_snapshots *s = ctx;
    enum wsc_err committed = store_commit(&s->out);
    return rc ? rc : committed;
}

static enum wsc_err size(void *ctx, const char *name, int64_t *n)
{
    struct app_snapshots *s = ctx;
    int64_t shape[2];
    int n_dims;
    *n = 0;
    if (!store_has(s->in, name)) return WSC_OK;
    TRY(store_shape(s->in, name, &n_dims, shape));
    if (n_dims == 1) *n = shape[0];
    return WSC_OK;
}

static enum wsc_err read_words(void *ctx, const char *name, int64_t first, int64_t n, int64_t *word)
{
    struct app_snapshots *s = ctx;
    return store_read(s->in, name, STORE_I64, first, n, word);
}

/* ---- a run ----------------------------------------------------------------------------------- */

static bool is_asked_to_stop(void *ctx)
{
    (void)ctx;
    return wsc_stop_asked() != 0;
}

static enum wsc_err group_max(void *comm, int64_t *x)
{
    return comm_subgroup_max(comm, x);
}
static enum wsc_err group_sum(void *comm, uint64_t *x, int n)
{
    return comm_subgroup_sum(comm, x, n);
}

/* The first rank of each host compares every checksum of the file. */
static enum wsc_err check_sums(const struct app_snapshots *s, struct comm *comm)
{
    bool first = true;
    for (int r = 0; comm && r < comm_rank(comm); r++)
        if (comm_host_of_rank(comm)[r] == comm_host_of_rank(comm)[comm_rank(comm)]) first = false;
    return app_agree(comm, first ? store_check(s->resume) : WSC_OK);
}

/* The numbers of the snapshot, as one. */
static enum wsc_err read_head(struct app_snapshots *s, uint64_t *digest)
{
    enum { MOST_WORDS = 64 };
    int64_t word[MOST_WORDS], n;
    TRY(size(s, "head", &n));
    if (n > MOST_WORDS) n = MOST_WORDS;
    TRY(read_words(s, "head", 0, n, word));
    *digest = wsc_hash64(word, (size_t)n * sizeof *word, 0);
    return WSC_OK;
}

/* Two ranks with files of different cycles would wait for each other. */
static enum wsc_err compare_ranks(const struct app_snapshots *s, struct comm *comm, uint64_t digest)
{
    const int64_t here = (int64_t)(digest >> 1);
    if (!comm || comm_max(comm, here) == -comm_max(comm, -here)) return WSC_OK;
    return app_reported_once(
        comm, wsc_err_hint(WSC_RAISE(WSC_IO, "%s: not the same snapshot for all ranks", s->resume),
                           "every host needs the same file"));
}

static enum wsc_err open_file(struct app_snapshots *s, struct comm *comm)
{
    uint64_t digest = 0;
    TRY(check_sums(s, comm));
    enum wsc_err rc = store_open(&s->in, s->resume);
    if (!rc) rc = check_file(s);
    if (!rc) rc = read_head(s, &digest);
    TRY(app_agree(comm, rc));
    return compare_ranks(s, comm, digest);
}

/* A long run must not find out that it cannot write when it is interrupted. */
static enum wsc_err check_output(const struct app_snapshots *s, struct comm *comm)
{
    bool reports = true;
    TRY(app_agree(comm, app_leads(comm) ? out_can_write(s->path) : WSC_OK));
    const enum wsc_err rc = comm ? job_check_shared(comm, s->path, true, &reports) : WSC_OK;
    return app_agree(comm, reports ? rc : WSC_OK);
}

static enum wsc_err start(struct app_snapshots *s, const struct app_mesh *o, struct comm *comm)
{
    const struct mesh_snapshots_config config = {
        .archive = {s, begin, write_words, end, size, read_words},
        .every = o->every,
        .writes = o->snapshot != NULL,
        .resumes = o->resume != NULL};
    if (!o->snapshot && !o->resume) return WSC_OK;
    TRY(describe_case(o, &s->of));
    TRY(describe_build(s->build));
    if (comm && o->snapshot) {
        s->group = (struct store_group){.max = group_max, .sum = group_sum, .ctx = comm};
        s->group.communicator = comm_subgroup(comm, true, &s->group.rank, &s->group.size);
    }
    if (o->snapshot) TRY(check_output(s, comm));
    if (o->resume) TRY(open_file(s, comm));
    return mesh_snapshots_create(&s->snapshots, &config);
}

static void close_all(struct app_snapshots **s)
{
    wsc_stop_watch(false);
    mesh_snapshots_destroy(&(*s)->snapshots);
    store_close(&(*s)->in);
    wsc_text_free(&(*s)->of);
    wsc_free(*s);
    *s = NULL;
}

enum wsc_err app_snapshot_begin(struct app_snapshots **out, struct app_mesh *o, struct comm *comm)
{
    struct app_snapshots *s;
    *out = NULL;
    TRY_NEW(s, WSC_MEM_APP, 1);
    s->path = o->snapshot;
    s->resume = o->resume;
    enum wsc_err rc = start(s, o, comm);
    if (rc) {
        close_all(&s);
        return rc;
    }
    o->c.snapshots = s->snapshots;
    o->c.stop = is_asked_to_stop;
    wsc_stop_watch(true);
    *out = s;
    return WSC_OK;
}

enum wsc_err app_snapshot_end(struct app_snapshots **s, enum wsc_err rc)
{
    const char *path = (*s)->path;
    close_all(s);
    if (rc != WSC_INTERRUPTED) return rc;
    if (!path) return wsc_err_hint(rc, "with --snapshot FILE it can be resumed");
    return wsc_err_hint(rc, "with --resume %s it continues there", path);
}
