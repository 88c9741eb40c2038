// SPDX-License-Identifier: Apache-2.0
/* Every result of <wsc/mesh.h> about an observer, printed one after the other, so that two runs can
 * be compared as texts. */
#include "watch_text.h"
#include "../../support/test.h"

#include <wsc/mem.h>

struct mesh_watch *watch_all(int w, int h, int64_t max_events)
{
    const struct mesh_rect all = {0, 0, w, h};
    struct mesh_watch *watch;
    T_OK(mesh_watch_create(
        &watch, &(struct mesh_watch_config){
                    .causes = true, .trace = &all, .n_trace = 1, .max_events = max_events}));
    return watch;
}

static void write_counts(const struct mesh_watch *watch, int x, int y, FILE *f)
{
    struct mesh_pe_counts pe;
    struct mesh_router_counts router;
    mesh_watch_counts(watch, x, y, &pe, &router);
    for (int k = 0; k < MESH_PE_STATES; k++)
        (void)fprintf(f, "%d ", pe.cycles[k]);
    for (int k = 0; k < 5; k++)
        (void)fprintf(f, "%d ", router.used[k]);
    for (int k = 0; k < 8; k++)
        (void)fprintf(f, "%d ", pe.peak_in[k]);
    for (int k = 0; k < 6; k++)
        (void)fprintf(f, "%d ", pe.peak_out[k]);
    (void)fprintf(f, "%d %d\n", router.held, router.peak);
}

static void write_path(const struct mesh_watch *watch, FILE *f)
{
    struct mesh_critical critical;
    struct mesh_leg *leg;
    int n;
    T_OK(mesh_watch_critical(watch, 1000, &critical, &leg, &n));
    (void)fprintf(f, "%lld cycles, complete %d:", (long long)critical.cycles, critical.complete);
    for (int k = 0; k < MESH_PARTS; k++)
        (void)fprintf(f, " %lld", (long long)critical.part[k]);
    for (int i = 0; i < n; i++)
        (void)fprintf(f, "\n(%d, %d) %lld %lld", leg[i].x, leg[i].y, (long long)leg[i].from,
                      (long long)leg[i].to);
    wsc_free(leg);
}

char *watch_text(const struct mesh_watch *watch, int w, int h)
{
    char *text = NULL;
    size_t size = 0;
    int64_t cut;
    FILE *f = open_memstream(&text, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    for (int i = 0; i < w * h; i++)
        write_counts(watch, i % w, i / w, f);
    write_path(watch, f);
    const int64_t events = mesh_trace_events(watch, &cut);
    (void)fprintf(f, "\n%lld events up to cycle %lld\n", (long long)events, (long long)cut);
    T_OK(mesh_trace_write(watch, "watched", f));
    (void)fclose(f);
    return text;
}
