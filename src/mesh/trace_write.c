// SPDX-License-Identifier: Apache-2.0
/* Writes a trace (watch_trace.c) in Chrome's trace event format: one row for each task, thread,
 * router output and queue of the traced PEs, 1 cycle as 1 us. docs/FILES.md describes the rows. */
#include "alu.h"
#include "mesh_state.h"
#include "watch_state.h"

#include <wsc/check.h>
#include <wsc/mem.h>

#include <stdlib.h>

/* The trace event format: Duffy, "Trace Event Format", Google, 2016, sections "Complete Events",
 * "Flow Events" and "Metadata Events". */

struct line {
    const struct mesh_watch_event *event;
    int32_t pe, traced, index;
};

/* Order by cycle, PE and row; on one row the outer slice comes first. */
static int compare_lines(const void *a, const void *b)
{
    const struct line *p = a, *q = b;
    if (p->event->begin != q->event->begin) return p->event->begin < q->event->begin ? -1 : 1;
    if (p->pe != q->pe) return p->pe < q->pe ? -1 : 1;
    if (p->event->row != q->event->row) return p->event->row < q->event->row ? -1 : 1;
    if (p->event->kind != q->event->kind) return p->event->kind < q->event->kind ? -1 : 1;
    return (p->index > q->index) - (p->index < q->index);
}

/* List the events that end before the cut, in the order of compare_lines(); the caller frees the
 * list.
 */
static enum wsc_err sorted_lines(const struct mesh_watch *w, struct line **out, int64_t *n)
{
    int64_t cut;
    *n = mesh_trace_events(w, &cut);
    TRY_NEW(*out, WSC_MEM_MESH, *n);
    struct line *line = *out;
    for (int i = 0; i < w->n_traced; i++)
        for (int32_t k = 0; k < w->trace[i].n; k++) {
            const struct mesh_watch_event *e = &w->trace[i].event[k];
            if (cut < 0 || e->end <= cut) *line++ = (struct line){e, w->trace[i].pe, i, k};
        }
    qsort(*out, (size_t)*n, sizeof **out, compare_lines);
    return WSC_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

static void write_row(int row, FILE *out)
{
    if (row == WATCH_ROW_MAIN)
        (void)fputs("main thread", out);
    else if (row < WATCH_ROW_UP)
        (void)fprintf(out, "microthread %d", row - 1);
    else if (row == WATCH_ROW_UP)
        (void)fputs("ramp up, to the router", out);
    else if (row == WATCH_ROW_DOWN)
        (void)fputs("ramp down, from the router", out);
    else
        (void)fprintf(out, "link %s", mesh_direction_name(row - WATCH_ROW_LINK));
}

/* The head of a metadata event; the caller closes its arguments. */
static void write_meta(const char *what, int pid, int tid, FILE *out)
{
    (void)fprintf(out, "{\"ph\": \"M\", \"name\": \"%s\", \"pid\": %d, \"tid\": %d, \"args\": {",
                  what, pid, tid);
}

/* Names and order of a PE (a process of the format) and of its rows (threads) that have events. */
static void write_names(const struct mesh_watch *w, const struct mesh_watch_trace *t, FILE *out)
{
    bool used[WATCH_N_ROWS] = {false};
    for (int32_t i = 0; i < t->n; i++)
        used[t->event[i].row] = true;
    (void)fputs(t == w->trace ? "\n" : ",\n", out);
    write_meta("process_name", t->pe, 0, out);
    (void)fprintf(out, "\"name\": \"PE (%d, %d)\"}},\n", t->pe % w->w, t->pe / w->w);
    write_meta("process_sort_index", t->pe, 0, out);
    (void)fprintf(out, "\"sort_index\": %d}}", t->pe);
    for (int row = 0; row < WATCH_N_ROWS; row++) {
        if (!used[row]) continue;
        (void)fputs(",\n", out);
        write_meta("thread_name", t->pe, row, out);
        (void)fputs("\"name\": \"", out);
        write_row(row, out);
        (void)fputs("\"}},\n", out);
        write_meta("thread_sort_index", t->pe, row, out);
        (void)fprintf(out, "\"sort_index\": %d}}", row);
    }
}

/* ---- slices ---------------------------------------------------------------------------------- */

static void write_task(const struct mesh_watch_event *e, FILE *out)
{
    if (e->in == MESH_NONE)
        (void)fprintf(out, "\"task %u\", \"cat\": \"task\", \"args\": {}", e->data);
    else if (e->data < MESH_TASKS)
        (void)fprintf(out, "\"control task %u\", \"cat\": \"task\", \"args\": {\"colour\": %u}",
                      e->data, e->in);
    else
        (void)fprintf(out, "\"data task\", \"cat\": \"task\", \"args\": {\"colour\": %u}", e->in);
}

static void write_op(const struct mesh_watch_event *e, FILE *out)
{
    (void)fprintf(out, "\"%s\", \"cat\": \"operation\", \"args\": {\"elements\": %u",
                  mesh_code_info[e->code].name, e->data);
    if (e->in != MESH_NONE) (void)fprintf(out, ", \"colour_in\": %u", e->in);
    if (e->out != MESH_NONE) (void)fprintf(out, ", \"colour_out\": %u", e->out);
    (void)fprintf(out, "%s}", e->control ? ", \"control\": true" : "");
}

static void write_wavelet(const struct mesh_watch_event *e, FILE *out)
{
    (void)fprintf(out,
                  "\"colour %u%s\", \"cat\": \"wavelet\", \"args\": {\"colour\": %u, "
                  "\"payload\": \"0x%08x\", \"control\": %s}",
                  e->in, e->control ? " control" : "", e->in, e->data,
                  e->control ? "true" : "false");
}

static void write_slice(const struct line *l, FILE *out)
{
    const struct mesh_watch_event *e = l->event;
    (void)fprintf(out,
                  ",\n{\"ph\": \"X\", \"pid\": %d, \"tid\": %d, \"ts\": %d, \"dur\": %d, "
                  "\"name\": ",
                  l->pe, e->row, e->begin, e->end - e->begin);
    if (e->kind == WATCH_EVENT_TASK)
        write_task(e, out);
    else if (e->kind == WATCH_EVENT_OP)
        write_op(e, out);
    else if (e->kind == WATCH_EVENT_WAVELET)
        write_wavelet(e, out);
    else
        (void)fputs("\"scalar code\", \"cat\": \"scalar\", \"args\": {}", out);
    (void)fputc('}', out);
}

/* One end of an arrow, at the beginning of the slice @p e; both ends have the same @p id. */
static void write_end(char ph, long long id, int pid, const struct mesh_watch_event *e, FILE *out)
{
    (void)fprintf(out,
                  ",\n{\"ph\": \"%c\", %s\"id\": %lld, \"pid\": %d, \"tid\": %d, \"ts\": %d, "
                  "\"name\": \"wavelet\", \"cat\": \"route\"}",
                  ph, ph == 'f' ? "\"bp\": \"e\", " : "", id, pid, e->row, e->begin);
}

/* An arrow from the last event of the same wavelet. */
static void write_arrow(const struct mesh_watch *w, const struct line *l, long long id, FILE *out)
{
    const struct mesh_watch_trace *from = &w->trace[l->event->traced];
    write_end('s', id, from->pe, &from->event[l->event->from], out);
    write_end('f', id, l->pe, l->event, out);
}

static void write_head(const struct mesh_watch *w, const char *title, FILE *out)
{
    int program;
    const int n_programs = mesh_watch_programs(w, &program);
    int64_t cut, n = mesh_trace_events(w, &cut);
    (void)fprintf(out,
                  "{\"displayTimeUnit\": \"ns\",\n\"otherData\": {\"title\": \"%s\", "
                  "\"time_unit\": \"1 us in this file is 1 cycle\", \"fabric\": [%d, %d], "
                  "\"program\": %d, \"of_programs\": %d, \"cycles\": %lld, \"traced_pes\": %d, "
                  "\"events\": %lld, \"left_out_from_cycle\":",
                  title, w->w, w->h, program, n_programs, (long long)w->cycles, w->n_traced,
                  (long long)n);
    if (cut < 0)
        (void)fputs(" null},\n\"traceEvents\": [", out);
    else
        (void)fprintf(out, " %lld},\n\"traceEvents\": [", (long long)cut);
}

enum wsc_err mesh_trace_write(const struct mesh_watch *w, const char *title, FILE *out)
{
    struct line *line;
    int64_t n;
    long long id = 0;
    WSC_CHECK(w->done && w->n_traced, "nothing was traced");
    TRY(sorted_lines(w, &line, &n));
    write_head(w, title, out);
    for (int i = 0; i < w->n_traced; i++)
        write_names(w, &w->trace[i], out);
    for (int64_t i = 0; i < n; i++) {
        write_slice(&line[i], out);
        if (line[i].event->from >= 0) write_arrow(w, &line[i], ++id, out);
    }
    (void)fputs("\n]}\n", out);
    wsc_free(line);
    return WSC_OK;
}
