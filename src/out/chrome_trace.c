// SPDX-License-Identifier: Apache-2.0
/* The Trace Event Format of chrome://tracing, which Perfetto reads too: one JSON object
 * {"displayTimeUnit", "traceEvents": [...]}, written event by event, so that a trace of any length
 * needs no memory.  ph M names rows, X is a bar, s and f are the ends of an arrow; pid is the
 * group, tid the row.  Times are microseconds, here with six digits after the point, so that no
 * picosecond is lost. */
#include <wsc/out.h>

#include <wsc/file.h>
#include <wsc/mem.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The first failure stays in rc; errors of the file show at the end, by ferror(). */
struct out_trace {
    FILE *file;
    char *path; /* owned */
    struct wsc_beside beside;
    bool any;
    enum wsc_err rc;
};

enum wsc_err out_trace_open(struct out_trace **out, const char *path)
{
    struct out_trace *t;
    TRY_NEW(t, WSC_MEM_REPORT, 1);
    *out = t;
    t->path = wsc_strdup(WSC_MEM_REPORT, path);
    enum wsc_err rc = t->path ? wsc_beside_begin(&t->beside, path) : WSC_NOMEM;
    t->file = rc ? NULL : fopen(t->beside.tmp, "w");
    if (t->file) {
        (void)fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [", t->file);
        return WSC_OK;
    }
    if (!rc) rc = WSC_RAISE(WSC_IO, "%s: cannot be written: %s", path, strerror(errno));
    t->rc = rc;
    (void)!out_trace_close(out);
    return rc;
}

/* `{` and what all events have; the caller ends the object. */
static void open_event(struct out_trace *t, char phase, int group, int row, const char *name)
{
    struct wsc_text quoted = {0};
    out_text_json(&quoted, name);
    if (quoted.failed) t->rc = WSC_NOMEM;
    (void)fprintf(t->file, "%s\n{\"ph\": \"%c\", \"pid\": %d, \"tid\": %d, \"name\": %s",
                  t->any ? "," : "", phase, group, row, quoted.bytes ? quoted.bytes : "\"\"");
    wsc_text_free(&quoted);
    t->any = true;
}

/* A time in microseconds: picoseconds with the point moved, never through a double. */
static void add_time(struct out_trace *t, const char *key, int64_t ps)
{
    const int64_t million = 1000000;
    (void)fprintf(t->file, ", \"%s\": %lld.%06lld", key, (long long)(ps / million),
                  (long long)(ps % million));
}

/* The arguments of a naming event, and its end. */
static void add_name(struct out_trace *t, const char *name)
{
    struct wsc_text quoted = {0};
    out_text_json(&quoted, name);
    (void)fprintf(t->file, ", \"args\": {\"name\": %s}}", quoted.bytes ? quoted.bytes : "\"\"");
    wsc_text_free(&quoted);
}

void out_trace_row(struct out_trace *t, int group, const char *group_name, int row,
                   const char *row_name)
{
    open_event(t, 'M', group, row, "process_name");
    add_name(t, group_name);
    open_event(t, 'M', group, row, "thread_name");
    add_name(t, row_name);
    open_event(t, 'M', group, row, "thread_sort_index");
    (void)fprintf(t->file, ", \"args\": {\"sort_index\": %d}}", row);
}

void out_trace_bar(struct out_trace *t, int group, int row, const char *name, int64_t begin_ps,
                   int64_t end_ps, int64_t bytes)
{
    open_event(t, 'X', group, row, name);
    add_time(t, "ts", begin_ps);
    add_time(t, "dur", end_ps - begin_ps);
    if (bytes) (void)fprintf(t->file, ", \"args\": {\"bytes\": %lld}", (long long)bytes);
    (void)fputs("}", t->file);
}

void out_trace_arrow(struct out_trace *t, int64_t id, bool head, int group, int row, int64_t at_ps)
{
    open_event(t, head ? 'f' : 's', group, row, "message");
    add_time(t, "ts", at_ps);
    (void)fprintf(t->file, ", \"cat\": \"link\", \"id\": %lld%s}", (long long)id,
                  head ? ", \"bp\": \"e\"" : "");
}

/* End the list, close, publish; a trace that is not complete is removed. */
static enum wsc_err finish(struct out_trace *t)
{
    if (!t->file) return wsc_beside_end(&t->beside, t->path, t->rc);
    (void)fputs("\n]}\n", t->file);
    bool bad = fflush(t->file) || ferror(t->file);
    if (fclose(t->file)) bad = true;
    if (!t->rc && bad)
        t->rc = WSC_RAISE(WSC_IO, "%s: cannot be written: %s", t->path, strerror(errno));
    return wsc_beside_end(&t->beside, t->path, t->rc);
}

enum wsc_err out_trace_close(struct out_trace **t)
{
    if (!*t) return WSC_OK;
    enum wsc_err rc = finish(*t);
    wsc_free((*t)->path);
    wsc_free(*t);
    *t = NULL;
    return rc;
}
