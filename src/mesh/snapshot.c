// SPDX-License-Identifier: Apache-2.0
/* Writes snapshots at their due cycles, and continues a run from one. The arrays are `head`
 * (sizes, counts, cycle), `said` (the data that the host has read from programs that ended), `rows`
 * (where each row of the fabric begins in `state`), `state` (snapshot_pe.c) and `watch`
 * (snapshot_watch.c). run.c and mesh_cycle.c call it; the file itself is the caller's. */
#include "snapshot.h"
#include "mesh_share.h"
#include "mesh_share_watch.h"
#include "region.h"
#include "snapshot_pe.h"
#include "snapshot_stream.h"
#include "snapshot_watch.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <string.h>

enum { FORMAT = 1, WORD = 8 };

/* Numbers of a snapshot, in the order of the array `head`. */
struct head {
    int64_t format, w, h, arch, half, n_channels, queue_lines, n_tasks, n_sources, n_sinks, n_noted;
    int64_t program, over, now, next, last, wavelets, wavelet_hops, elements, watch_bytes,
        host_data_bytes;
};
enum { HEAD_WORDS = sizeof(struct head) / WORD };

/* Data that the host has read, one record after the other, each preceded by its length. */
struct host_data {
    char *bytes;
    int64_t n, capacity, at; /* at: position in bytes while it is replayed */
};
struct mesh_snapshots {
    struct mesh_snapshots_config config;
    struct head head; /* of the snapshot to resume from */
    struct host_data host_data;
    int64_t program; /* number of the running or next program */
    int64_t over;    /* cycles of the finished programs */
    int64_t due;     /* cycle count at which the next snapshot is written */
    bool repeats, last;
    struct mesh_watch *watch; /* borrowed: the last one attached */
};

static int64_t words_of(int64_t bytes)
{
    return (bytes + WORD - 1) / WORD;
}

/* ---- what the host has read -------------------------------------------------------------------
 */

static enum wsc_err append(struct host_data *t, const void *bytes, int64_t n)
{
    TRY_GROW(t->bytes, WSC_MEM_MESH, t->capacity, t->n + n);
    if (n) memcpy(t->bytes + t->n, bytes, (size_t)n);
    t->n += n;
    return WSC_OK;
}

static enum wsc_err take(struct host_data *t, void *bytes, int64_t n)
{
    if (n > t->n - t->at) return WSC_RAISE(WSC_FORMAT, "snapshot: it is of another run");
    if (n) memcpy(bytes, t->bytes + t->at, (size_t)n);
    t->at += n;
    return WSC_OK;
}

bool mesh_snapshot_repeats(const struct mesh *m)
{
    return m->config.snapshots && m->config.snapshots->repeats;
}

enum wsc_err mesh_snapshot_say(const struct mesh *m, void *bytes, int64_t n)
{
    struct mesh_snapshots *k = m->config.snapshots;
    int64_t length = n;
    if (!k || (!k->repeats && (!k->config.writes || k->last))) return WSC_OK;
    if (!k->repeats) {
        TRY(append(&k->host_data, &length, (int64_t)sizeof length));
        return append(&k->host_data, bytes, n);
    }
    TRY(take(&k->host_data, &length, (int64_t)sizeof length));
    if (length != n) return WSC_RAISE(WSC_FORMAT, "snapshot: it is of another run");
    return take(&k->host_data, bytes, n);
}

/* Record, or replay, the words that left over the edges. */
static enum wsc_err record_sinks(struct mesh *m)
{
    for (int i = 0; i < m->n_sinks; i++) {
        struct mesh_output *o = m->sink[i].output;
        TRY(mesh_snapshot_say(m, &o->n, (int64_t)sizeof o->n));
        TRY(mesh_snapshot_say(m, &o->first_cycle, (int64_t)sizeof o->first_cycle));
        if (o->n < 0 || o->n > o->capacity)
            return WSC_RAISE(WSC_FORMAT, "snapshot: it is of another run");
        TRY(mesh_snapshot_say(m, o->word, o->n * (int64_t)sizeof *o->word));
    }
    return WSC_OK;
}

enum wsc_err mesh_snapshot_ended(struct mesh *m, struct mesh_stats *stats)
{
    struct mesh_snapshots *k = m->config.snapshots;
    if (!k) return WSC_OK;
    k->program++;
    TRY(mesh_snapshot_say(m, stats, (int64_t)sizeof *stats));
    k->over += stats->cycles; /* those of a program before the snapshot are read above */
    return record_sinks(m);
}

enum wsc_err mesh_snapshot_results(struct mesh *m, struct mesh_stats *stats)
{
    m->linked = true;
    return mesh_snapshot_ended(m, stats);
}

/* ---- writing --------------------------------------------------------------------------------- */

static struct head head_of(const struct mesh *m)
{
    const struct mesh_snapshots *k = m->config.snapshots;
    return (struct head){.format = FORMAT,
                         .w = m->config.w,
                         .h = m->config.h,
                         .arch = (int64_t)m->config.arch,
                         .half = (int64_t)m->config.half,
                         .n_channels = m->n_channels,
                         .queue_lines = m->queue_lines,
                         .n_tasks = m->n_tasks,
                         .n_sources = m->n_sources,
                         .n_sinks = m->n_sinks,
                         .n_noted = m->n_noted,
                         .program = k->program,
                         .over = k->over};
}

/* Temporary data of one process while it writes or reads. */
struct writing {
    const struct mesh_archive *archive;
    struct mesh_snapshot_timers timers; /* owned */
    struct head head;
    int64_t *row;     /* owned, h + 1: where each row begins, words */
    int64_t *word;    /* owned, of the current row */
    int64_t capacity; /* of word */
};

static bool is_first_process(const struct mesh *m)
{
    return !m->config.share || !m->config.share->part;
}

/* The range of rows that this process runs. */
static void own_rows(const struct mesh *m, int *first, int *end)
{
    const struct mesh_region *low = &m->region[m->own], *high = low + m->n_own - 1;
    *first = (int)(low->first / m->config.w);
    *end = (int)((high->first + high->n_pes) / m->config.w);
}

/* Count the words of each row of this process. */
static enum wsc_err measure_rows(struct mesh *m, struct writing *w)
{
    int first, end;
    TRY_NEW(w->row, WSC_MEM_MESH, m->config.h + 1);
    own_rows(m, &first, &end);
    for (int y = first; y < end; y++) {
        struct mesh_stream s = {.mode = MESH_STREAM_COUNT};
        TRY(mesh_snapshot_row(m, &s, y, &w->timers, false));
        w->row[y] = words_of(s.at);
    }
    return WSC_OK;
}

/* Gather the counts of all processes, and set where each row begins. */
static enum wsc_err place_rows(const struct mesh *m, struct writing *w)
{
    const struct mesh_rect all = {0, 0, 1, m->config.h};
    int64_t before = 0;
    WSC_CHECK(w->row, "%d rows are not counted", m->config.h);
    TRY(mesh_share_rows(m, all, w->row, WORD));
    for (int y = 0; y <= m->config.h; y++) {
        const int64_t n = w->row[y];
        w->row[y] = before;
        before += n;
    }
    return WSC_OK;
}

/* Allocate @p words words and one more; all are 0. */
static enum wsc_err make_room(struct writing *w, int64_t words)
{
    TRY_GROW(w->word, WSC_MEM_MESH, w->capacity, words + 1);
    memset(w->word, 0, (size_t)(words + 1) * WORD);
    return WSC_OK;
}

static struct mesh_stream stream_of(struct writing *w, enum mesh_stream_mode mode, int64_t words)
{
    return (struct mesh_stream){.mode = mode, .bytes = (char *)w->word, .n = words * WORD};
}

static enum wsc_err write_rows(struct mesh *m, struct writing *w)
{
    int first, end;
    own_rows(m, &first, &end);
    for (int y = first; y < end; y++) {
        const int64_t words = w->row[y + 1] - w->row[y];
        TRY(make_room(w, words));
        struct mesh_stream s = stream_of(w, MESH_STREAM_WRITE, words);
        TRY(mesh_snapshot_row(m, &s, y, &w->timers, false));
        TRY(w->archive->write(w->archive->ctx, "state", w->row[y], words, w->word));
    }
    return WSC_OK;
}

/* Write the arrays that are equal in all processes; the first process does so. */
static enum wsc_err write_common(struct mesh *m, struct writing *w)
{
    const struct mesh_snapshots *k = m->config.snapshots;
    const struct mesh_archive *a = w->archive;
    int64_t head[HEAD_WORDS];
    if (!is_first_process(m)) return WSC_OK;
    memcpy(head, &w->head, sizeof head);
    TRY(a->write(a->ctx, "head", 0, HEAD_WORDS, head));
    TRY(a->write(a->ctx, "rows", 0, m->config.h + 1, w->row));
    TRY(make_room(w, words_of(k->host_data.n)));
    if (k->host_data.n) memcpy(w->word, k->host_data.bytes, (size_t)k->host_data.n);
    TRY(a->write(a->ctx, "said", 0, words_of(k->host_data.n) + 1, w->word));
    const int64_t words = words_of(w->head.watch_bytes);
    TRY(make_room(w, words));
    struct mesh_stream s = stream_of(w, MESH_STREAM_WRITE, words);
    if (words) TRY(mesh_snapshot_watch_state(k->watch, &s));
    return a->write(a->ctx, "watch", 0, words + 1, w->word);
}

/* The sizes of what this process writes. */
static enum wsc_err measure_own(struct mesh *m, struct writing *w)
{
    const struct mesh_snapshots *k = m->config.snapshots;
    struct mesh_stream s = {.mode = MESH_STREAM_COUNT};
    if (mesh_snapshot_has_watch(k->watch)) TRY(mesh_snapshot_watch_state(k->watch, &s));
    w->head.watch_bytes = s.at;
    TRY(mesh_snapshot_timers(m, &w->timers));
    return measure_rows(m, w);
}

static enum wsc_err measure(struct mesh *m, struct writing *w, int64_t next)
{
    const struct mesh_snapshots *k = m->config.snapshots;
    struct mesh_stats stats;
    mesh_regions_stats(m, &stats);
    TRY(mesh_share_stats(m, &stats));
    w->head = head_of(m);
    w->head.now = m->region->now;
    w->head.next = next;
    w->head.last = stats.cycles;
    w->head.wavelets = stats.wavelets;
    w->head.wavelet_hops = stats.wavelet_hops;
    w->head.elements = stats.elements;
    w->head.host_data_bytes = k->host_data.n;
    if (m->watch) TRY(mesh_share_watch(m));
    TRY(mesh_share_agree(m, measure_own(m, w)));
    return place_rows(m, w);
}

static enum wsc_err write_all(struct mesh *m, struct writing *w)
{
    const struct mesh_snapshots *k = m->config.snapshots;
    const struct mesh_archive *a = w->archive;
    WSC_CHECK(w->row, "rows that were not measured");
    const struct mesh_array array[] = {{"head", HEAD_WORDS},
                                       {"rows", m->config.h + 1},
                                       {"said", words_of(k->host_data.n) + 1},
                                       {"watch", words_of(w->head.watch_bytes) + 1},
                                       {"state", w->row[m->config.h]}};
    TRY(a->begin(a->ctx, w->head.over + w->head.next, array, (int)(sizeof array / sizeof *array)));
    enum wsc_err rc = write_common(m, w);
    if (!rc) rc = write_rows(m, w);
    return a->end(a->ctx, rc);
}

static enum wsc_err write_snapshot(struct mesh *m, int64_t next)
{
    struct writing w = {.archive = &m->config.snapshots->config.archive};
    for (int i = 0; i < m->n_regions; i++)
        m->region[i].now = next - 1; /* the skipped cycles changed nothing */
    enum wsc_err rc = mesh_share_agree(m, measure(m, &w, next));
    if (!rc) rc = mesh_share_agree(m, write_all(m, &w));
    wsc_free(w.timers.timer);
    wsc_free(w.row);
    wsc_free(w.word);
    return rc;
}

/* ---- when ------------------------------------------------------------------------------------ */

/* End the run with error @p rc, which was raised on this thread, maybe not that of the caller; its
 * message is kept. */
static bool end_run(struct mesh *m, enum wsc_err rc)
{
    m->end_rc = rc;
    wsc_free(m->end_message);
    m->end_message = wsc_strdup(WSC_MEM_MESH, wsc_err_message());
    return false;
}

static bool is_due(const struct mesh *m, int64_t next)
{
    const struct mesh_snapshots *k = m->config.snapshots;
    return k && k->config.writes && (m->stopped || (k->config.every && k->over + next >= k->due));
}

int64_t mesh_snapshot_horizon(const struct mesh *m, int64_t last)
{
    const struct mesh_snapshots *k = m->config.snapshots;
    if (!k || !k->config.writes || !k->config.every) return last;
    return last < k->due - k->over - 1 ? last : k->due - k->over - 1;
}

bool mesh_snapshot_pass(struct mesh *m, int64_t next)
{
    struct mesh_snapshots *k = m->config.snapshots;
    if (next >= m->config.max_cycles) return true;
    if (is_due(m, next)) {
        enum wsc_err rc = write_snapshot(m, next);
        if (rc) return end_run(m, rc);
        if (k->config.every) k->due = ((k->over + next) / k->config.every + 1) * k->config.every;
    }
    if (!m->stopped) return true;
    return end_run(
        m, WSC_RAISE(WSC_INTERRUPTED, "stopped by a signal before cycle %lld", (long long)next));
}

/* ---- resuming -------------------------------------------------------------------------------- */

enum mesh_beginning mesh_snapshot_beginning(const struct mesh *m)
{
    const struct mesh_snapshots *k = m->config.snapshots;
    if (!k || !k->repeats) return MESH_BEGINS;
    return k->program < k->head.program ? MESH_OVER : MESH_CONTINUES;
}

static enum wsc_err read_words(const struct mesh_snapshots *k, const char *name, int64_t first,
                               int64_t n, int64_t *word)
{
    return k->config.archive.read(k->config.archive.ctx, name, first, n, word);
}

/* The sizes of the fabric and its program must be those of the snapshot. */
static enum wsc_err check_head(const struct mesh *m)
{
    const struct head *of = &m->config.snapshots->head, own = head_of(m);
    const bool same = of->w == own.w && of->h == own.h && of->arch == own.arch &&
                      of->half == own.half && of->n_channels == own.n_channels &&
                      of->queue_lines == own.queue_lines && of->n_tasks == own.n_tasks &&
                      of->n_sources == own.n_sources && of->n_sinks == own.n_sinks &&
                      of->n_noted == own.n_noted;
    const struct host_data *host_data = &m->config.snapshots->host_data;
    if (same && host_data->at == host_data->n && of->now >= 0 && of->next > of->now &&
        of->next < m->config.max_cycles)
        return WSC_OK;
    return WSC_RAISE(WSC_FORMAT, "snapshot: it is of another run");
}

static enum wsc_err read_row(struct mesh *m, struct writing *w, int y, bool only_channels)
{
    const struct mesh_snapshots *k = m->config.snapshots;
    const int64_t words = w->row[y + 1] - w->row[y];
    if (words < 0) return WSC_RAISE(WSC_FORMAT, "snapshot: row %d is damaged", y);
    TRY(make_room(w, words));
    TRY(read_words(k, "state", w->row[y], words, w->word));
    struct mesh_stream s = stream_of(w, MESH_STREAM_READ, words);
    TRY(mesh_snapshot_row(m, &s, y, NULL, only_channels));
    if (!s.damaged && (only_channels || words_of(s.at) == words)) return WSC_OK;
    return WSC_RAISE(WSC_FORMAT, "snapshot: row %d is damaged", y);
}

/* Read the rows of this process, and of the rows beside them the part that a process keeps of its
 * neighbours. */
static enum wsc_err read_rows(struct mesh *m, struct writing *w)
{
    int first, end;
    TRY_NEW(w->row, WSC_MEM_MESH, m->config.h + 1);
    TRY(read_words(m->config.snapshots, "rows", 0, m->config.h + 1, w->row));
    own_rows(m, &first, &end);
    for (int y = first; y < end; y++)
        TRY(read_row(m, w, y, false));
    if (first > 0) TRY(read_row(m, w, first - 1, true));
    if (end < m->config.h) TRY(read_row(m, w, end, true));
    mesh_share_resume(m);
    return WSC_OK;
}

static enum wsc_err read_watch(struct mesh *m, struct writing *w)
{
    const struct mesh_snapshots *k = m->config.snapshots;
    const int64_t words = words_of(k->head.watch_bytes);
    if (!words != !k->watch) return WSC_RAISE(WSC_FORMAT, "snapshot: it is of another run");
    if (!words) return WSC_OK;
    TRY(make_room(w, words));
    TRY(read_words(k, "watch", 0, words, w->word));
    struct mesh_stream s = stream_of(w, MESH_STREAM_READ, words);
    TRY(mesh_snapshot_watch_state(k->watch, &s));
    return s.damaged ? WSC_RAISE(WSC_FORMAT, "snapshot: what was watched is damaged") : WSC_OK;
}

/* Set the clocks of all regions to @p now, the cycle that ended, and clear the lists of visits. */
static void set_clock(struct mesh *m, int64_t now)
{
    for (int i = 0; i < m->n_regions; i++) {
        struct mesh_region *r = &m->region[i];
        for (int k = 0; k < MESH_AHEAD && r->active[k].routers; k++)
            mesh_active_clear(r, k);
        r->now = now;
    }
}

static void set_counts(struct mesh *m, const struct head *h)
{
    struct mesh_region *r = &m->region[m->own];
    r->last = h->last;
    if (is_first_process(m))
        r->stats = (struct mesh_stats){
            .wavelets = h->wavelets, .wavelet_hops = h->wavelet_hops, .elements = h->elements};
}

enum wsc_err mesh_snapshot_restore(struct mesh *m, int64_t *next)
{
    struct mesh_snapshots *k = m->config.snapshots;
    struct writing w = {.archive = &k->config.archive};
    *next = k->head.next;
    TRY(check_head(m));
    set_clock(m, k->head.now);
    enum wsc_err rc = read_rows(m, &w);
    if (!rc) rc = read_watch(m, &w);
    set_counts(m, &k->head);
    wsc_free(w.row);
    wsc_free(w.word);
    k->repeats = false;
    if (k->config.every) k->due = ((k->over + *next) / k->config.every + 1) * k->config.every;
    return rc;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Read the data that the host has read before, in whole words. */
static enum wsc_err read_host_data(struct mesh_snapshots *k)
{
    const struct mesh_archive *a = &k->config.archive;
    int64_t n, *word;
    TRY(a->size(a->ctx, "said", &n));
    k->host_data.n = k->head.host_data_bytes;
    if (k->host_data.n < 0 || words_of(k->host_data.n) >= n)
        return WSC_RAISE(WSC_FORMAT, "snapshot: what the host has read is damaged");
    TRY_NEW(word, WSC_MEM_MESH, n);
    k->host_data.bytes = (char *)word;
    k->host_data.capacity = n * WORD;
    return a->read(a->ctx, "said", 0, n, word);
}

static enum wsc_err open_snapshot(struct mesh_snapshots *k)
{
    const struct mesh_archive *a = &k->config.archive;
    int64_t n, head[HEAD_WORDS];
    TRY(a->size(a->ctx, "head", &n));
    if (n < 1) return WSC_RAISE(WSC_FORMAT, "it holds no snapshot of a fabric");
    TRY(a->read(a->ctx, "head", 0, 1, head));
    if (head[0] != FORMAT || n != HEAD_WORDS)
        return WSC_RAISE(WSC_FORMAT, "a snapshot of format %lld, expected %d", (long long)head[0],
                         FORMAT);
    TRY(a->read(a->ctx, "head", 0, HEAD_WORDS, head));
    memcpy(&k->head, head, sizeof k->head);
    k->repeats = true;
    return read_host_data(k);
}

enum wsc_err mesh_snapshots_create(struct mesh_snapshots **out,
                                   const struct mesh_snapshots_config *config)
{
    struct mesh_snapshots *k;
    *out = NULL;
    TRY_NEW(k, WSC_MEM_MESH, 1);
    k->config = *config;
    k->due = config->every;
    enum wsc_err rc = config->resumes ? open_snapshot(k) : WSC_OK;
    if (rc) {
        mesh_snapshots_destroy(&k);
        return rc;
    }
    *out = k;
    return WSC_OK;
}

void mesh_snapshots_destroy(struct mesh_snapshots **s)
{
    if (!*s) return;
    wsc_free((*s)->host_data.bytes);
    wsc_free(*s);
    *s = NULL;
}

void mesh_snapshots_last(struct mesh_snapshots *s)
{
    if (s) s->last = true;
}

int64_t mesh_snapshots_resumed(const struct mesh_snapshots *s)
{
    return s && s->config.resumes ? s->head.over + s->head.next : 0;
}

int64_t mesh_snapshots_over(const struct mesh_snapshots *s)
{
    return s ? s->over : 0;
}

void mesh_snapshot_watch(struct mesh *m, struct mesh_watch *w)
{
    if (m->config.snapshots && w) m->config.snapshots->watch = w;
}

enum wsc_err mesh_note(struct mesh *m, void *array, int64_t bytes)
{
    if (m->n_noted == MESH_MAX_NOTED)
        return WSC_RAISE(WSC_CAPACITY, "mesh: more than %d arrays of the host", MESH_MAX_NOTED);
    m->noted[m->n_noted++] = (struct mesh_noted){array, bytes};
    return WSC_OK;
}

void mesh_note_end(struct mesh *m, const void *array)
{
    int kept = 0;
    for (int i = 0; i < m->n_noted; i++)
        if (m->noted[i].array != array) m->noted[kept++] = m->noted[i];
    m->n_noted = kept;
}
