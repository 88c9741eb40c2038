// SPDX-License-Identifier: Apache-2.0
/* What `wsc mesh KERNEL` shows besides the cycles, from a watch on the fabric: a heat map of PEs
 * and links, a trace of chosen PEs, and where the cycles went (--explain). */
#include "mesh_show.h"

#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/report.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RECTS = 256, MAX_LEGS = 1000, TEXT_LEGS = 12 };

/* ---- which PEs ------------------------------------------------------------------------------- */

/* The error for a list of PEs that cannot be read. */
static enum wsc_err bad_pes(const char *text)
{
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "--trace_pe: expected PEs, got \"%s\"", text),
                        "--trace_pe all, --trace_pe '0,0;3,2' or --trace_pe 0-3,0-1");
}

/* "N" or "N-M" in @p text, which ends at @p end. */
static bool parse_range(const char *text, const char *end, int *first, int *n)
{
    char *rest;
    long from = strtol(text, &rest, 10), to = from;
    if (rest == text || rest > end || from < 0) return false;
    if (*rest == '-') {
        text = rest + 1;
        to = strtol(text, &rest, 10);
        if (rest == text) return false;
    }
    if (rest != end || to < from || to >= 2048) return false;
    *first = (int)from;
    *n = (int)(to - from) + 1;
    return true;
}

/* "X,Y" with ranges, inside the fabric. */
static enum wsc_err parse_rect(const char *text, size_t n, const int fabric[2], struct mesh_rect *r)
{
    const char *comma = memchr(text, ',', n);
    char item[64];
    (void)snprintf(item, sizeof item, "%.*s", (int)(n < 63 ? n : 63), text);
    if (!comma || !parse_range(text, comma, &r->x, &r->w) ||
        !parse_range(comma + 1, text + n, &r->y, &r->h))
        return bad_pes(item);
    if (r->x + r->w <= fabric[0] && r->y + r->h <= fabric[1]) return WSC_OK;
    return WSC_RAISE(WSC_USAGE, "--trace_pe %s: outside the fabric of %d x %d PEs", item, fabric[0],
                     fabric[1]);
}

/* Rectangles separated by blanks, at most as many as a trace takes. */
static enum wsc_err parse_pes(const char *text, const int fabric[2], struct mesh_rect *rect, int *n)
{
    *n = 1;
    rect[0] = (struct mesh_rect){0, 0, fabric[0], fabric[1]};
    if (!strcmp(text, "all")) return WSC_OK;
    for (*n = 0; *n < MAX_RECTS;) {
        size_t length = strcspn(text, ";");
        TRY(parse_rect(text, length, fabric, &rect[(*n)++]));
        text += length;
        if (!*text++) return WSC_OK;
    }
    return WSC_RAISE(WSC_USAGE, "--trace_pe: more than %d places; all traces every PE", MAX_RECTS);
}

/* ---- before the run -------------------------------------------------------------------------- */

/* gnuplot writes PNG; any other ending would mislead. */
static bool ends_in_png(const char *path)
{
    size_t n = strlen(path);
    return n > 4 && !strcmp(path + n - 4, ".png");
}

/* What can be refused before the kernel runs. */
static enum wsc_err check(const struct app_show *s)
{
    if (s->heatmap && !ends_in_png(s->heatmap))
        return wsc_err_hint(WSC_RAISE(WSC_USAGE,
                                      "--heatmap: expected a name that ends in .png, "
                                      "got \"%s\"",
                                      s->heatmap),
                            "--heatmap heat.png");
    if (s->heatmap) TRY(out_can_write(s->heatmap));
    return s->trace ? out_can_write(s->trace) : WSC_OK;
}

enum wsc_err app_show_begin(struct app_show *s, int w, int h)
{
    struct mesh_rect rect[MAX_RECTS];
    const int fabric[2] = {w, h};
    int n = 0;
    TRY(check(s));
    if (!s->heatmap && !s->trace && !s->explain) return WSC_OK;
    if (s->trace_pe)
        TRY(parse_pes(s->trace_pe, fabric, rect, &n));
    else if (s->trace)
        n = mesh_trace_choice(w, h, rect);
    return mesh_watch_create(&s->watch, &(struct mesh_watch_config){.causes = s->explain,
                                                                    .trace = rect,
                                                                    .n_trace = n,
                                                                    .max_events = s->trace_events});
}

void app_show_fini(struct app_show *s)
{
    mesh_watch_destroy(&s->watch);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A panel for each view of the watch. */
static enum wsc_err write_heatmap(const struct app_show *s, int w, int h, const char *title)
{
    struct report_panel panel[MESH_VIEWS];
    char note[128] = "x grows to the east, y to the south; one cell is one PE and its router";
    const int64_t n = (int64_t)w * h;
    const int fold = report_heatmap_fold(w, h);
    float *value;
    TRY_NEW(value, WSC_MEM_APP, n * MESH_VIEWS);
    for (int i = 0; i < MESH_VIEWS; i++) {
        mesh_watch_view(s->watch, (enum mesh_view)i, value + i * n);
        panel[i] = (struct report_panel){mesh_view_name((enum mesh_view)i), value + i * n,
                                         i == MESH_VIEW_QUEUE};
    }
    if (fold > 1)
        (void)snprintf(note, sizeof note,
                       "a dot is %d x %d PEs: the mean, for the fullest queue the greatest", fold,
                       fold);
    enum wsc_err rc = report_heatmap_write(
        s->heatmap,
        &(struct report_heatmap){
            .title = title, .note = note, .w = w, .h = h, .panel = panel, .n_panels = MESH_VIEWS});
    wsc_free(value);
    return rc;
}

/* The trace as a text in memory, so that the file appears whole. */
static enum wsc_err trace_text(const struct app_show *s, const char *title, char **text)
{
    size_t size = 0;
    FILE *f = open_memstream(text, &size);
    if (!f) return WSC_RAISE(WSC_NOMEM, "%s: no memory for the trace", s->trace);
    enum wsc_err rc = mesh_trace_write(s->watch, title, f);
    bool failed = ferror(f);
    if ((fclose(f) || failed) && !rc)
        rc = WSC_RAISE(WSC_NOMEM, "%s: no memory for the trace", s->trace);
    return rc;
}

static enum wsc_err write_trace(const struct app_show *s, const char *title)
{
    char *text = NULL;
    int64_t cut;
    enum wsc_err rc = trace_text(s, title, &text);
    if (!rc) rc = out_write_text(s->trace, text);
    free(text);
    if (rc) return wsc_err_frame(rc, __FILE__, __LINE__, "the trace");
    int64_t n = mesh_trace_events(s->watch, &cut);
    if (cut >= 0)
        WSC_WARNING(
            "%s: ends at cycle %lld, with %lld events; fewer PEs (--trace_pe) or more events "
            "(--trace_events) reach further",
            s->trace, (long long)cut, (long long)n);
    return WSC_OK;
}

enum wsc_err app_show_files(const struct app_show *s, int w, int h, const char *title)
{
    if (s->heatmap) TRY(write_heatmap(s, w, h, title));
    return s->trace ? write_trace(s, title) : WSC_OK;
}

/* ---- where the cycles went ------------------------------------------------------------------- */

/* What the watch of a run says about its cycles. */
struct explained {
    int64_t state[MESH_PE_STATES], pe_cycles;
    struct mesh_critical critical;
    struct mesh_leg *leg; /* owned */
    int n_legs;
    int program, n_programs; /* which one is shown, of how many */
};

/* Cycles of PEs by state. */
static void state_json(const struct explained *e)
{
    (void)printf(", \"explain\": {\"pe_cycles\": {");
    for (int i = 0; i < MESH_PE_STATES; i++)
        (void)printf("%s\"%s\": %lld", i ? ", " : "",
                     mesh_pe_state_label((enum mesh_pe_state)i).key, (long long)e->state[i]);
    (void)printf("}, \"pe_fraction\": {");
    for (int i = 0; i < MESH_PE_STATES; i++)
        (void)printf("%s\"%s\": %.6f", i ? ", " : "",
                     mesh_pe_state_label((enum mesh_pe_state)i).key,
                     (double)e->state[i] / (double)e->pe_cycles);
}

/* Cycles of the critical path by part. */
static void parts_json(const int64_t part[MESH_PARTS])
{
    for (int i = 0; i < MESH_PARTS; i++)
        (void)printf(", \"%s\": %lld", mesh_part_label((enum mesh_part)i).key, (long long)part[i]);
}

/* States, parts and the last legs of the path as one object. */
static void explain_json(const struct explained *e)
{
    state_json(e);
    (void)printf("}, \"critical_path\": {\"cycles\": %lld", (long long)e->critical.cycles);
    parts_json(e->critical.part);
    (void)printf(", \"complete\": %s, \"legs\": [", e->critical.complete ? "true" : "false");
    for (int i = 0; i < e->n_legs; i++) {
        const struct mesh_leg *l = &e->leg[i];
        (void)printf("%s{\"pe\": [%d, %d], \"from\": %lld, \"to\": %lld", i ? ", " : "", l->x, l->y,
                     (long long)l->from, (long long)l->to);
        parts_json(l->part);
        (void)printf("}");
    }
    (void)printf("]}, \"program\": %d, \"of_programs\": %d}", e->program, e->n_programs);
}

/* A table of names with cycles and percentages. */
static enum wsc_err print_shares(const char *const *name, const int64_t *value, int n, int64_t all)
{
    struct out_table *t;
    TRY(out_table_new(&t, "lrr", NULL));
    for (int i = 0; i < n; i++) {
        out_table_cell(t, "%s", name[i]);
        out_table_cell(t, "%lld", (long long)value[i]);
        out_table_cell(t, "%.1f %%", all ? 100 * (double)value[i] / (double)all : 0);
    }
    enum wsc_err rc = out_table_print(t, stdout, 2);
    out_table_free(&t);
    return rc;
}

/* The last legs of the critical path. */
static enum wsc_err print_legs(const struct explained *e)
{
    const char *head[2 + MESH_PARTS + 1] = {"cycles", "PE"};
    struct out_table *t;
    int first = e->n_legs > TEXT_LEGS ? e->n_legs - TEXT_LEGS : 0;
    for (int p = 0; p < MESH_PARTS; p++)
        head[2 + p] = mesh_part_label((enum mesh_part)p).text;
    TRY(out_table_new(&t, "rlrrrrrrr", head));
    for (int i = first; i < e->n_legs; i++) {
        const struct mesh_leg *l = &e->leg[i];
        out_table_cell(t, "%lld .. %lld", (long long)l->from, (long long)l->to);
        if (l->x < 0)
            out_table_cell(t, "edge");
        else
            out_table_cell(t, "(%d, %d)", l->x, l->y);
        for (int p = 0; p < MESH_PARTS; p++)
            out_table_cell(t, "%lld", (long long)l->part[p]);
    }
    (void)printf("its %slegs, each at a PE and on the way to the next one:\n",
                 first || !e->critical.complete ? "last " : "");
    enum wsc_err rc = out_table_print(t, stdout, 2);
    out_table_free(&t);
    return rc;
}

/* States, parts and legs as tables. */
static enum wsc_err explain_text(const struct explained *e)
{
    const char *state[MESH_PE_STATES], *part[MESH_PARTS];
    for (int i = 0; i < MESH_PE_STATES; i++)
        state[i] = mesh_pe_state_label((enum mesh_pe_state)i).text;
    for (int i = 0; i < MESH_PARTS; i++)
        part[i] = mesh_part_label((enum mesh_part)i).text;
    (void)printf("\nwhere the cycles went, all PEs");
    if (e->n_programs > 1)
        (void)printf(", of the longest of %d programs, %lld cycles", e->n_programs,
                     (long long)e->critical.cycles);
    (void)printf(":\n");
    TRY(print_shares(state, e->state, MESH_PE_STATES, e->pe_cycles));
    (void)printf("critical path, %lld cycles:\n", (long long)e->critical.cycles);
    TRY(print_shares(part, e->critical.part, MESH_PARTS, e->critical.cycles));
    return print_legs(e);
}

enum wsc_err app_show_explain(const struct app_show *s, bool json)
{
    struct explained e = {0};
    enum wsc_err rc = WSC_OK;
    if (!s->explain) return WSC_OK;
    mesh_watch_sum(s->watch, e.state);
    for (int i = 0; i < MESH_PE_STATES; i++)
        e.pe_cycles += e.state[i];
    e.n_programs = mesh_watch_programs(s->watch, &e.program);
    TRY(mesh_watch_critical(s->watch, MAX_LEGS, &e.critical, &e.leg, &e.n_legs));
    if (json)
        explain_json(&e);
    else
        rc = explain_text(&e);
    wsc_free(e.leg);
    return rc;
}
