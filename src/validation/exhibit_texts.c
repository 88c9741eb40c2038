// SPDX-License-Identifier: Apache-2.0
/* Titles and notes of exhibits, in which `{ROW}` stands for the published figure of a row and
 * `{ROW/OTHER}` for the ratio of two, and the rows that are no points of the curves because their
 * conditions differ.  exhibit_curves.c calls. */
#include "validation_impl.h"

#include <wsc/validation_exhibits.h>

#include <wsc/mem.h>
#include <wsc/text.h>

#include <stdio.h>
#include <string.h>

/* ---- figures in texts ------------------------------------------------------------------------ */

/* A text of an exhibit and its place in the file. */
struct source {
    const char *path;
    const struct validation_exhibit *exhibit;
    const char *text;
    struct validation_place at;
    const struct validation_comparison *rows;
};

static WSC_CHECKED enum wsc_err wrong_text(const struct source *s, const char *what,
                                           const char *name, size_t n)
{
    return WSC_RAISE(WSC_CONFIG, "%s:%d:%d: exhibit %.40s: %s \"%.*s\"", s->path, s->at.line,
                     s->at.column, s->exhibit->id, what, n < 60 ? (int)n : 60, name);
}

/* The published figure of the row with the name of @p n bytes at @p name. */
static WSC_CHECKED enum wsc_err find_value(const struct source *s, const char *name, size_t n,
                                           double *value)
{
    for (int i = 0; i < s->rows->n_refs; i++) {
        const struct validation_figure *f = &s->rows->ref[i];
        if (strlen(f->id) != n || strncmp(f->id, name, n) != 0) continue;
        *value = f->value;
        return WSC_OK;
    }
    return wrong_text(s, "no published figure is named", name, n);
}

/* Append what stands for the @p n bytes between braces at @p inner. */
static WSC_CHECKED enum wsc_err add_figure(const struct source *s, const char *inner, size_t n,
                                           struct wsc_text *out)
{
    const char *slash = memchr(inner, '/', n);
    const size_t first = slash ? (size_t)(slash - inner) : n;
    double value = 0, base = 1;
    TRY(find_value(s, inner, first, &value));
    if (slash) TRY(find_value(s, slash + 1, n - first - 1, &base));
    wsc_text_add(out, slash ? "%.3g" : "%.4g", value / base);
    return WSC_OK;
}

static WSC_CHECKED enum wsc_err fill(const struct source *s, struct wsc_text *out)
{
    const char *p = s->text ? s->text : "";
    for (const char *open; (open = strchr(p, '{')) != NULL;) {
        const char *end = strchr(open, '}');
        if (!end) return wrong_text(s, "no } after", open, strlen(open));
        wsc_text_bytes(out, p, (size_t)(open - p));
        TRY(add_figure(s, open + 1, (size_t)(end - open - 1), out));
        p = end + 1;
    }
    wsc_text_add(out, "%s", p);
    return WSC_OK;
}

/* ---- rows of other conditions ---------------------------------------------------------------- */

static int curve_of(const struct validation_reproduced *r, const struct validation_figure *f)
{
    int k = 0;
    while (k < r->n_curves && strcmp(r->curve[k].model, f->model) != 0)
        k++;
    return k;
}

/* What differs between a row and the curve of its model; false: nothing. */
static bool differs(const struct validation_reproduced *r, const struct validation_curve *curve,
                    const struct validation_figure *f, char *why, size_t size)
{
    const struct validation_exhibit *e = r->exhibit;
    if (e->picture == VALIDATION_BATCHES && f->num_csx != 1)
        (void)snprintf(why, size, "%lld systems", (long long)f->num_csx);
    else if (f->msl != curve->msl)
        (void)snprintf(why, size, "%lld tokens", (long long)f->msl);
    else if (strcmp(f->set, e->set ? e->set : "") != 0)
        (void)snprintf(why, size, "%s", *f->set ? f->set : "without overrides");
    else
        return false;
    return true;
}

/* Would the row be a point of a picture? */
static bool has_point(const struct validation_figure *f)
{
    return validation_rate_of_figure(f) > 0 || f->quantity == VALIDATION_EFFICIENCY ||
           f->quantity == VALIDATION_SPEEDUP;
}

/* The curve of each row; those of other conditions are named at the end of the note. */
static void place_rows(struct validation_reproduced *r, struct wsc_text *note)
{
    const char *before = note->n ? " Not in the picture, for other conditions: "
                                 : "Not in the picture, for other "
                                   "conditions: ";
    int n = 0;
    for (int i = 0; i < r->n_rows; i++) {
        const struct validation_figure *f = r->row[i]->ref;
        char why[sizeof f->set];
        const int k = r->curve_of[i] = curve_of(r, f);
        if (k == r->n_curves || !differs(r, &r->curve[k], f, why, sizeof why)) continue;
        r->curve_of[i] = VALIDATION_NO_CURVE;
        if (has_point(f)) wsc_text_add(note, "%s%s (%s)", n++ ? ", " : before, f->id, why);
    }
    if (n) wsc_text_add(note, ".");
}

enum wsc_err validation_exhibit_place(struct validation_reproduced *r)
{
    struct wsc_text note = {0};
    TRY_NEW(r->curve_of, WSC_MEM_SCALING, r->n_rows + 1);
    wsc_text_add(&note, "%s", r->note);
    place_rows(r, &note);
    wsc_free(r->note);
    return wsc_text_take(&note, &r->note);
}

enum wsc_err validation_exhibit_texts(const struct validation_comparison *rows, const char *path,
                                      struct validation_reproduced *r)
{
    const struct validation_exhibit *e = r->exhibit;
    struct wsc_text title = {0}, note = {0};
    enum wsc_err rc = fill(&(struct source){path, e, e->title, e->title_at, rows}, &title);
    if (!rc) rc = fill(&(struct source){path, e, e->note, e->note_at, rows}, &note);
    if (!rc) rc = wsc_text_take(&title, &r->title);
    if (!rc) rc = wsc_text_take(&note, &r->note);
    wsc_text_free(&title);
    wsc_text_free(&note);
    return rc;
}
