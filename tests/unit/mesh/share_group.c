// SPDX-License-Identifier: Apache-2.0
/* Every function publishes a pointer, meets the others, reads theirs, and meets them again before
 * the memory may change. */
#include "share_group.h"

#include <wsc/check.h>

#include <pthread.h>
#include <string.h>

struct group {
    int parts;
    pthread_barrier_t barrier;
    const struct mesh_bytes *out[SHARE_MOST];
    const int64_t *value[SHARE_MOST];
    const char *bytes[SHARE_MOST];
    int64_t exchanges;
};
struct member {
    struct group *group;
    int part;
    pthread_t thread;
    void (*work)(const struct mesh_share *share, void *arg);
    void *arg;
};

static void meet(struct group *g)
{
    (void)pthread_barrier_wait(&g->barrier);
}

static enum wsc_err swap(void *ctx, const struct mesh_bytes out[2], struct mesh_bytes in[2])
{
    struct member *me = ctx;
    struct group *g = me->group;
    g->out[me->part] = out;
    if (!me->part) g->exchanges++;
    meet(g);
    for (int side = 0; side < 2; side++) {
        const int other = me->part + (side ? 1 : -1);
        if (other < 0 || other >= g->parts) continue;
        const struct mesh_bytes *theirs = &g->out[other][1 - side];
        WSC_CHECK(theirs->n <= in[side].capacity, "%lld bytes", (long long)theirs->n);
        in[side].n = theirs->n;
        memcpy(in[side].data, theirs->data, (size_t)theirs->n);
    }
    meet(g);
    return WSC_OK;
}

static enum wsc_err least(void *ctx, int64_t *value, int n)
{
    enum { MOST = 4 };
    struct member *me = ctx;
    int64_t result[MOST];
    WSC_CHECK(n <= MOST, "%d values", n);
    me->group->value[me->part] = value;
    meet(me->group);
    for (int i = 0; i < n; i++) {
        result[i] = value[i];
        for (int p = 0; p < me->group->parts; p++)
            if (me->group->value[p][i] < result[i]) result[i] = me->group->value[p][i];
    }
    meet(me->group);
    memcpy(value, result, (size_t)n * sizeof *value);
    return WSC_OK;
}

static enum wsc_err spread(void *ctx, void *bytes, const int64_t *first)
{
    struct member *me = ctx;
    me->group->bytes[me->part] = bytes;
    meet(me->group);
    for (int p = 0; p < me->group->parts; p++)
        if (p != me->part && first[p + 1] > first[p])
            memcpy((char *)bytes + first[p], me->group->bytes[p] + first[p],
                   (size_t)(first[p + 1] - first[p]));
    meet(me->group);
    return WSC_OK;
}

static void *run(void *argument)
{
    struct member *me = argument;
    const struct mesh_share share = {.part = me->part,
                                     .parts = me->group->parts,
                                     .ctx = me,
                                     .swap = swap,
                                     .least = least,
                                     .spread = spread};
    me->work(&share, me->arg);
    return NULL;
}

int64_t share_group_run(int parts, void (*work)(const struct mesh_share *share, void *arg),
                        void *arg, size_t bytes)
{
    struct group g = {.parts = parts};
    struct member member[SHARE_MOST];
    WSC_CHECK(parts <= SHARE_MOST, "%d parts", parts);
    (void)pthread_barrier_init(&g.barrier, NULL, (unsigned)parts);
    for (int p = 0; p < parts; p++) {
        member[p] = (struct member){
            .group = &g, .part = p, .work = work, .arg = (char *)arg + (size_t)p * bytes};
        WSC_CHECK(!pthread_create(&member[p].thread, NULL, run, &member[p]), "no thread");
    }
    for (int p = 0; p < parts; p++)
        (void)pthread_join(member[p].thread, NULL);
    (void)pthread_barrier_destroy(&g.barrier);
    return g.exchanges;
}
