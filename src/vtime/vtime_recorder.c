// SPDX-License-Identifier: Apache-2.0
/* The recorder of virtual time: events of one program, each with the edges to what it waits for,
 * and the bars that a viewer draws.  An edge keeps the time of the event that it comes from, so
 * that a record can be read without those of earlier steps.  Filled by the functions of
 * <wsc/vtime.h>; gathered from all ranks by comm; read by timeline. */
#include <wsc/check.h>
#include <wsc/mem.h>
#include <wsc/vtime.h>

/* Items of an array when it first grows, beyond twice what it must hold. */
enum { FIRST_SIZE = 1 << 8 };

const char *vtime_part_name(enum vtime_part part)
{
    static const char *const name[VTIME_N_PARTS] = {[VTIME_WAIT] = "waiting",
                                                    [VTIME_COMPUTE] = "compute",
                                                    [VTIME_STAGE] = "stage latency",
                                                    [VTIME_IN] = "weights into the wafer",
                                                    [VTIME_OUT] = "gradients out of the wafer",
                                                    [VTIME_SPILL] = "spill",
                                                    [VTIME_INPUT] = "input",
                                                    [VTIME_WEIGHTS] = "weights on a link",
                                                    [VTIME_GRADIENTS] = "gradients on a link",
                                                    [VTIME_ADD] = "addition in SwarmX",
                                                    [VTIME_LATENCY] = "latency of links and nodes",
                                                    [VTIME_UPDATE] = "optimizer",
                                                    [VTIME_RESEND] = "lost packets",
                                                    [VTIME_CONTROL] = "coordination",
                                                    [VTIME_CHECKPOINT] = "checkpoint",
                                                    [VTIME_BEFORE] = "before the record"};
    return name[part];
}

void vtime_recorder_init(struct vtime_recorder *r, int32_t id)
{
    *r = (struct vtime_recorder){.id = id, .transfer = VTIME_NO_TRANSFER};
}

void vtime_recorder_fini(struct vtime_recorder *r)
{
    wsc_free(r->event);
    wsc_free(r->edge);
    wsc_free(r->bar);
    vtime_recorder_init(r, r->id);
}

void vtime_recorder_take(struct vtime_recorder *r, struct vtime_recorder *out)
{
    *out = *r;
    vtime_recorder_init(r, r->id);
    r->n_before = out->n_before + out->n_events;
}

/* Room for @p more items after @p n; on failure the recorder stops. */
static bool make_room(struct vtime_recorder *r, void **items, int64_t n, int64_t more,
                      int64_t *size, size_t item_bytes)
{
    if (r->rc) return false;
    if (n + more <= *size) return true;
    const int64_t wanted = 2 * (n + more) + FIRST_SIZE;
    void *grown = wsc_realloc(WSC_MEM_TIMELINE, *items, (size_t)wanted, item_bytes);
    if (!grown) {
        r->rc = wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "record virtual time");
        return false;
    }
    *items = grown;
    *size = wanted;
    return true;
}

/* Room for an event with @p n edges; its edges, or NULL. */
static struct vtime_edge *open_event(struct vtime_recorder *r, int n)
{
    void *event = r->event, *edge = r->edge;
    bool room = make_room(r, &event, r->n_events, 1, &r->events_size, sizeof *r->event);
    r->event = event;
    room = room && make_room(r, &edge, r->n_edges, n, &r->edges_size, sizeof *r->edge);
    r->edge = edge;
    return room ? r->edge + r->n_edges : NULL;
}

/* Complete the event whose n edges were filled in; returns the time at which it happens, with its
 * id. */
static struct vtime close_event(struct vtime_recorder *r, int n, int64_t ps)
{
    r->event[r->n_events] =
        (struct vtime_event){.ps = ps, .step = r->step, .transfer = r->transfer, .n_edges = n};
    r->n_edges += n;
    return (struct vtime){ps, vtime_event_id(r->id, r->n_before + r->n_events++)};
}

/* An event with one edge and no delay would say nothing: the event before stands for it. */
struct vtime vtime_record(struct vtime_recorder *r, const struct vtime_edge *in, int n)
{
    if (n == 1 && !in->delay_ps) return in->from;
    const struct vtime latest = vtime_latest(NULL, in, n);
    struct vtime_edge *edge = open_event(r, n);
    if (!edge) return latest;
    for (int i = 0; i < n; i++)
        edge[i] = in[i];
    return close_event(r, n, latest.ps);
}

struct vtime vtime_record_after(struct vtime_recorder *r, struct vtime t, int64_t delay_ps,
                                enum vtime_part part)
{
    const struct vtime_edge in = {t, delay_ps, part};
    return vtime_record(r, &in, 1);
}

struct vtime vtime_record_join(struct vtime_recorder *r, struct vtime a, struct vtime b,
                               int64_t delay_ps, enum vtime_part part)
{
    const struct vtime_edge in[] = {{a, 0, VTIME_WAIT}, {b, delay_ps, part}};
    return vtime_record(r, in, 2);
}

struct vtime vtime_record_list(struct vtime_recorder *r, const struct vtime *t, int n, int stride)
{
    struct vtime latest = t[0];
    if (n == 1) return latest;
    struct vtime_edge *edge = open_event(r, n);
    for (int i = 0; i < n; i++) {
        const struct vtime from = t[(ptrdiff_t)i * stride];
        latest = vtime_max(latest, from);
        if (edge) edge[i] = (struct vtime_edge){from, 0, VTIME_WAIT};
    }
    return edge ? close_event(r, n, latest.ps) : latest;
}

void vtime_record_bar(struct vtime_recorder *r, const struct vtime_bar *bar)
{
    if (!r) return;
    WSC_CHECK(bar->begin.ps <= bar->end.ps, "a bar of kind %d begins at %lld ps, ends at %lld ps",
              (int)bar->kind, (long long)bar->begin.ps, (long long)bar->end.ps);
    void *items = r->bar;
    const bool room = make_room(r, &items, r->n_bars, 1, &r->bars_size, sizeof *r->bar);
    r->bar = items;
    if (!room) return;
    r->bar[r->n_bars] = *bar;
    r->bar[r->n_bars].step = r->step;
    r->bar[r->n_bars++].transfer = r->transfer;
}
