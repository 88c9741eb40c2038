// SPDX-License-Identifier: Apache-2.0
/* Draws heat maps of a rectangle of PEs (`wsc mesh --heatmap`): panels side by side, drawn by
 * gnuplot into one PNG. Grids larger than 1024 are folded: a dot shows the mean or the greatest of
 * its cells. */
#include <wsc/report.h>

#include <wsc/file.h>
#include <wsc/mem.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Sizes in pixels of the picture. */
enum {
    USUAL_SIDE = 480, /* of a panel that is drawn large */
    MOST_SIDE = 1024, /* of a panel, as long as a PE is not smaller than a dot */
    MOST_CELL = 160,  /* of a PE */
    LEAST_SIDE = 48,  /* thinner panels are widened */
    LEAST_SLOT = 330, /* width in which a panel's title fits */
    LEFT = 86,
    RIGHT = 112,
    TOP = 44,
    BOTTOM = 62,
    HEAD = 74,
    MOST_TICKS = 8,
    LABEL_W = 44,
    LABEL_H = 20
};

/* Pixels of a picture and of its panels. */
struct layout {
    int fold;             /* PEs along the side of a dot */
    int w, h;             /* dots */
    int twice_w, twice_h; /* 2 where there is one dot: gnuplot's images have two and more */
    int panel_w, panel_h, slot_w, slot_h;
    int columns, rows; /* of panels */
    int width, height;
};

/* Larger of the two. */
static int at_least(int value, int least)
{
    return value < least ? least : value;
}

/* Smaller of the two. */
static int at_most(int value, int most)
{
    return value > most ? most : value;
}

/* Sizes from the grid: dots are squares of whole pixels, so that cells stay distinguishable. */
static struct layout lay_out(const struct report_heatmap *map)
{
    struct layout l = {.fold = 1};
    int side = map->w > map->h ? map->w : map->h, thin = map->w < map->h ? map->w : map->h;
    while ((side + l.fold - 1) / l.fold > MOST_SIDE)
        l.fold++;
    l.w = (map->w + l.fold - 1) / l.fold;
    l.h = (map->h + l.fold - 1) / l.fold;
    l.twice_w = l.w == 1 ? 2 : 1;
    l.twice_h = l.h == 1 ? 2 : 1;
    side = l.w > l.h ? l.w : l.h;
    int room = 4 * thin < side ? MOST_SIDE : USUAL_SIDE; /* a line may be long */
    int cell = at_least(at_most(room / side, MOST_CELL), 1);
    l.panel_w = at_least(l.w * cell, LEAST_SIDE);
    l.panel_h = at_least(l.h * cell, LEAST_SIDE);
    l.columns = 2 * l.panel_h < l.panel_w ? 1 : 2 * l.panel_w < l.panel_h ? map->n_panels : 2;
    l.columns = at_most(l.columns, map->n_panels);
    l.rows = (map->n_panels + l.columns - 1) / l.columns;
    l.slot_w = at_least(l.panel_w + LEFT + RIGHT, LEAST_SLOT);
    l.slot_h = l.panel_h + TOP + BOTTOM;
    l.width = l.columns * l.slot_w;
    l.height = l.rows * l.slot_h + HEAD;
    return l;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* A dot of several PEs: their mean, or their greatest. */
static double dot(const struct report_heatmap *map, const struct report_panel *p, int fold, int x,
                  int y)
{
    double sum = 0, most = 0;
    int n = 0;
    for (int j = y * fold; j < (y + 1) * fold && j < map->h; j++)
        for (int i = x * fold; i < (x + 1) * fold && i < map->w; i++, n++) {
            double v = (double)p->value[(int64_t)j * map->w + i];
            sum += v;
            if (v > most) most = v;
        }
    return p->peak && isfinite(sum) ? most : sum / n;
}

/* The end of the colour scale: 1, 2 or 5 times a power of ten, at most 100 %. */
static double scale_end(double most)
{
    static const double step[] = {1, 2, 5};
    if (!(most > 0)) return 1;
    double power = pow(10, floor(log10(most)));
    for (int i = 0; i < 3; i++)
        if (most <= step[i] * power) return fmin(step[i] * power, 100);
    return fmin(10 * power, 100);
}

/* The values of a panel as a gnuplot data block, row by row from the north. */
static WSC_CHECKED enum wsc_err add_data(struct wsc_text *t, const struct report_heatmap *map,
                                         const struct layout *l, int panel, double *most)
{
    const struct report_panel *p = &map->panel[panel];
    *most = 0;
    wsc_text_add(t, "$p%d << EOD\n", panel);
    for (int j = 0; j < l->h * l->twice_h; j++) {
        for (int i = 0; i < l->w * l->twice_w; i++) {
            const int x = i / l->twice_w, y = j / l->twice_h;
            double v = dot(map, p, l->fold, x, y);
            if (!isfinite(v))
                return WSC_RAISE(WSC_NUMERIC, "%s: PE (%d, %d) is %g, expected a finite number",
                                 p->title, x * l->fold, y * l->fold, v);
            if (v > *most) *most = v;
            wsc_text_add(t, "%s%.4g", i ? " " : "", v);
        }
        wsc_text_add(t, "\n");
    }
    wsc_text_add(t, "EOD\n");
    return WSC_OK;
}

/* ---- the script ------------------------------------------------------------------------------ */

/* Between the labels of n cells on @p room pixels; a label takes @p label. */
static int tick_step(int n, int room, int label)
{
    static const int step[] = {1, 2, 5, 10, 20, 50, 100, 200, 500};
    const int most = at_least(at_most(room / label, MOST_TICKS), 1);
    for (int i = 0; i < (int)(sizeof step / sizeof *step); i++)
        if ((n - 1) / step[i] < most) return step[i];
    return n;
}

/* Colours: viridis of van der Walt and Smith (2015), ten steps of equal perceived distance, dark to
 * bright, distinguishable with every kind of colour vision. */
static void add_frame(struct wsc_text *t, const struct report_heatmap *map, const struct layout *l,
                      const char *picture)
{
    static const char *const viridis[] = {"440154", "482878", "3e4a89", "31688e", "26828e",
                                          "1f9e89", "35b779", "6dcd59", "b4de2c", "fde725"};
    enum { N_COLOURS = sizeof viridis / sizeof *viridis };
    wsc_text_add(t,
                 "set encoding utf8\nset terminal pngcairo size %d,%d noenhanced font "
                 "'DejaVu Sans,10' background '#ffffff'\nset output ",
                 l->width, l->height);
    out_text_gnuplot(t, picture);
    wsc_text_add(t, "\nset palette defined (");
    for (int i = 0; i < N_COLOURS; i++)
        wsc_text_add(t, "%s%d '#%s'", i ? ", " : "", i, viridis[i]);
    wsc_text_add(t,
                 ")\nunset key\nset tics out nomirror\nset border 15 lw 0.6 lc rgb '#444444'\n"
                 "set label 1 at screen 0.5, screen %.6f center front font ',13' ",
                 1 - 26.0 / l->height);
    out_text_gnuplot(t, map->title);
    wsc_text_add(t, "\nset label 2 at screen 0.5, screen %.6f center front tc rgb '#555555' ",
                 1 - 50.0 / l->height);
    out_text_gnuplot(t, map->note);
    wsc_text_add(t, "\nset multiplot\n");
}

/* Position and size of a panel within the picture. */
static void add_place(struct wsc_text *t, const struct layout *l, int panel)
{
    int left = panel % l->columns * l->slot_w + LEFT + (l->slot_w - l->panel_w - LEFT - RIGHT) / 2;
    int bottom = (l->rows - 1 - panel / l->columns) * l->slot_h + BOTTOM;
    double width = l->width, height = l->height;
    wsc_text_add(t,
                 "set lmargin at screen %.9f\nset rmargin at screen %.9f\n"
                 "set bmargin at screen %.9f\nset tmargin at screen %.9f\n",
                 left / width, (left + l->panel_w) / width, bottom / height,
                 (bottom + l->panel_h) / height);
    wsc_text_add(t,
                 "set colorbox user origin screen %.9f, screen %.9f size screen %.9f, "
                 "screen %.9f\n",
                 (left + l->panel_w + 14) / width, bottom / height, 16 / width,
                 l->panel_h / height);
}

/* One panel: title, colour scale, image. */
static void add_panel(struct wsc_text *t, const struct report_heatmap *map, const struct layout *l,
                      int panel, double most)
{
    const struct report_panel *p = &map->panel[panel];
    const double step_x = (double)l->fold / l->twice_w, step_y = (double)l->fold / l->twice_h;
    const double end = p->peak ? 100 : scale_end(most);
    wsc_text_add(t, "set title ");
    out_text_gnuplot(t, p->title);
    wsc_text_add(t,
                 " offset 0,-0.4\nset xlabel 'x' offset 0,0.5\nset ylabel 'y' offset 1.2,0 "
                 "norotate\nset xtics 0,%d,%d\nset ytics 0,%d,%d\nset xrange [-0.5:%.1f]\n"
                 "set yrange [%.1f:-0.5]\n",
                 tick_step(map->w, l->panel_w, LABEL_W), map->w - 1,
                 tick_step(map->h, l->panel_h, LABEL_H), map->h - 1, map->w - 0.5, map->h - 0.5);
    wsc_text_add(t, "set cbrange [0:%.9g]\nset cbtics %.9g\nset format cb '%%g %%%%'\n", end,
                 l->panel_h < 100 ? end : end / 5);
    wsc_text_add(t,
                 "plot $p%d using (($1+0.5)*%g-0.5):(($2+0.5)*%g-0.5):3 matrix with image\n"
                 "unset label 1\nunset label 2\n",
                 panel, step_x, step_y);
}

/* The whole gnuplot script of a map. */
static WSC_CHECKED enum wsc_err make_script(struct wsc_text *t, const struct report_heatmap *map,
                                            const char *picture)
{
    struct layout l = lay_out(map);
    add_frame(t, map, &l, picture);
    for (int i = 0; i < map->n_panels; i++) {
        double most;
        TRY(add_data(t, map, &l, i, &most));
        add_place(t, &l, i);
        add_panel(t, map, &l, i, most);
    }
    wsc_text_add(t, "unset multiplot\nunset output\n");
    return wsc_text_check(t);
}

int report_heatmap_fold(int w, int h)
{
    return lay_out(&(struct report_heatmap){.w = w, .h = h, .n_panels = 1}).fold;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Script and picture are made in @p dir; the picture takes the name @p name at the end. */
static WSC_CHECKED enum wsc_err draw(const char *dir, const char *name, struct wsc_text *t,
                                     const struct report_heatmap *map)
{
    enum wsc_err rc = WSC_NOMEM;
    struct wsc_beside picture = {0};
    char *script = wsc_asprintf(WSC_MEM_REPORT, "%s.%ld.gp", name, (long)getpid());
    char *script_path = script ? out_file_path(dir, script) : NULL;
    char *path = out_file_path(dir, name);
    if (!script_path || !path) goto cleanup;
    TRY_GOTO(wsc_beside_begin(&picture, path), cleanup);
    TRY_GOTO(make_script(t, map, strrchr(picture.tmp, '/') + 1), cleanup);
    TRY_GOTO(out_write_text(script_path, t->bytes), cleanup);
    rc = out_gnuplot_run(dir, script);
cleanup:
    rc = wsc_beside_end(&picture, path, rc);
    if (script_path) (void)unlink(script_path);
    wsc_free(script);
    wsc_free(script_path);
    wsc_free(path);
    return rc;
}

enum wsc_err report_heatmap_write(const char *path, const struct report_heatmap *map)
{
    struct wsc_text t = {0};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *dir = slash ? wsc_strdup(WSC_MEM_REPORT, path) : wsc_strdup(WSC_MEM_REPORT, ".");
    if (!dir) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "name a folder");
    if (slash) dir[slash == path ? 1 : slash - path] = '\0';
    enum wsc_err rc = out_can_write(path);
    if (!rc) rc = draw(dir, name, &t, map);
    wsc_text_free(&t);
    wsc_free(dir);
    return rc;
}
