// SPDX-License-Identifier: Apache-2.0
/* The number of computing threads of a job without OMP_NUM_THREADS: the processors of this
 * process, unless the model is so small that threads would wait for each other more than they
 * compute.  The number changes no value.  job_setup.c calls it before the first pass. */
#include "job_threads.h"

#include <wsc/num.h>

/* Multiply-adds of a block for a micro-shard, forward, that keep one thread busy.  With 4 million
 * a thread works for some 0.1 ms, several times what it costs to wake another one. */
enum { MACS_PER_THREAD = 4 << 20 };

/* Threads that the products of a block can keep busy: tokens of a micro-shard times weights.  The
 * stage in the middle is a block of a deep model, or a matrix of one. */
static int most_busy(const struct job_state *s)
{
    const struct model *m = s->cluster->model;
    const int middle = m->n_stages / 2;
    const double weights = (double)m->stage[middle].n_elems;
    const double tokens = (double)m->T * (double)s->job->params->reduction_leaf;
    const double most = tokens * weights / MACS_PER_THREAD;
    return most < NUM_MAX_THREADS ? (int)most : NUM_MAX_THREADS;
}

void job_choose_threads(const struct job_state *s)
{
    const bool on_mesh = s->job->numerics == KERNELS_MESH; /* which limits its threads itself */
    num_init(comm_threads(on_mesh ? NUM_MAX_THREADS : s->job->values ? most_busy(s) : 1));
}
