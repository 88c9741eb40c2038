// SPDX-License-Identifier: Apache-2.0
/* The contract of every create function of stream and of the roles: wherever memory runs out, it
 * returns WSC_NOMEM, sets its result to NULL and keeps nothing. */
#include "../../support/small_run.h"
#include "../../support/test.h"
#include "../base/scarce.h"

#include <wsc/mem.h>

enum { MOST_TRIES = 2000 };

struct scene {
    struct small_config config;
    struct comm *comm;
    struct cluster *cluster;
};
/* Creates one thing and destroys it again; *@p nulled: it is NULL after an error. */
typedef enum wsc_err (*attempt_fn)(const struct scene *s, bool *nulled);

static enum wsc_err try_memoryx(const struct scene *s, bool *nulled)
{
    const struct memoryx_config config = {.params = &s->config.params, .values = true};
    struct memoryx *mx;
    enum wsc_err rc = memoryx_create(&mx, s->cluster->net, 0, &config);
    *nulled = !mx;
    memoryx_destroy(&mx);
    return rc;
}

static enum wsc_err try_swarmx(const struct scene *s, bool *nulled)
{
    struct swarmx *sx;
    enum wsc_err rc = swarmx_create(&sx, s->cluster->net, 0);
    *nulled = !sx;
    swarmx_destroy(&sx);
    return rc;
}

static enum wsc_err try_wafer(const struct scene *s, bool *nulled)
{
    struct wafer *w;
    enum wsc_err rc = wafer_create(&w, s->cluster->net, s->cluster->prices[0], 0);
    *nulled = !w;
    wafer_destroy(&w);
    return rc;
}

static enum wsc_err try_prices(const struct scene *s, bool *nulled)
{
    struct wafer_prices *p;
    enum wsc_err rc = wafer_prices_create(&p, s->cluster->model);
    *nulled = !p;
    wafer_prices_destroy(&p);
    return rc;
}

static enum wsc_err try_window(const struct scene *s, bool *nulled)
{
    const struct stream_pass pass = {.mode = STREAM_TRAIN, .batch = {.n_micro = 2}};
    struct stream_window *window;
    enum wsc_err rc =
        stream_window_create(&window, &s->cluster->hw, s->cluster->model, &pass, 1000);
    *nulled = !window;
    stream_window_destroy(&window);
    return rc;
}

static enum wsc_err try_topology(const struct scene *s, bool *nulled)
{
    struct stream_topology *t;
    (void)s;
    enum wsc_err rc = stream_topology_create(&t, 2, 9, 3);
    *nulled = !t;
    stream_topology_destroy(&t);
    return rc;
}

static enum wsc_err try_net(const struct scene *s, bool *nulled)
{
    struct stream_topology *t;
    struct stream_net *net = NULL;
    enum wsc_err rc = stream_topology_create(&t, 2, 9, 3);
    if (!rc) rc = stream_net_create(&net, s->comm, &s->cluster->hw, s->cluster->model, t, 1);
    *nulled = !net;
    stream_net_destroy(&net);
    return rc;
}

static int64_t memory_of_roles(void)
{
    return wsc_mem_in_use(WSC_MEM_STREAM) + wsc_mem_in_use(WSC_MEM_MEMORYX) +
           wsc_mem_in_use(WSC_MEM_SWARMX) + wsc_mem_in_use(WSC_MEM_WAFER);
}

/* Let each allocation fail in turn until none does; returns how many there are. */
static int fail_each(const struct scene *s, attempt_fn attempt)
{
    const int64_t before = memory_of_roles();
    for (int k = 0; k < MOST_TRIES; k++) {
        bool nulled = false;
        test_scarce_after(k);
        const enum wsc_err rc = attempt(s, &nulled);
        const bool failed = test_scarce_end();
        T_EQ(memory_of_roles(), before);
        T_EQ(rc, failed ? WSC_NOMEM : WSC_OK);
        T_EQ(nulled, failed);
        if (!failed) return k;
    }
    return MOST_TRIES;
}

TEST(no_memory, what_is_created_in_part_is_freed)
{
    const struct memoryx_hooks hooks = {0};
    struct scene s = {.comm = NULL};
    T_OK(small_config_init(&s.config, 3, NULL));
    T_OK(comm_create(&s.comm, false));
    T_OK(cluster_create(&s.cluster, s.comm, &s.config.params, &s.config.cluster, true, &hooks));
    CU_ASSERT(fail_each(&s, try_memoryx) > 20);
    T_EQ(fail_each(&s, try_swarmx), 1);
    T_EQ(fail_each(&s, try_wafer), 1);
    T_EQ(fail_each(&s, try_prices), 2);
    T_EQ(fail_each(&s, try_window), 2);
    CU_ASSERT(fail_each(&s, try_topology) >= 4);
    cluster_destroy(&s.cluster);
    comm_destroy(&s.comm);
    small_config_fini(&s.config);
}

TEST(no_memory, a_net_in_part_is_freed)
{
    const struct memoryx_hooks hooks = {0};
    struct scene s = {.comm = NULL};
    struct comm *own = NULL;
    T_OK(small_config_init(&s.config, 3, NULL));
    T_OK(comm_create(&own, false));
    T_OK(cluster_create(&s.cluster, own, &s.config.params, &s.config.cluster, false, &hooks));
    T_OK(comm_create(&s.comm, false));
    CU_ASSERT(fail_each(&s, try_net) > 20);
    comm_destroy(&s.comm);
    cluster_destroy(&s.cluster);
    comm_destroy(&own);
    small_config_fini(&s.config);
}
