// SPDX-License-Identifier: Apache-2.0
/* What the systems of a cluster share (docs/decisions/0022): input workers, activation servers, the
 * coordinator of steps, and the packet that a SwarmX node stores.  An installation with fewer nodes
 * than systems serves all of them evenly; a rate of 0 is no limit.  wafer, cycles and swarmx ask.
 */
#include "fault_events.h"

#include <wsc/check.h>
#include <wsc/vtime.h>

__extension__ typedef __int128 wide;

static int64_t n_csx_of(const struct hw *hw)
{
    return hw->n_csx > 1 ? hw->n_csx : 1;
}

/* What a system has of @p each of @p nodes nodes, at most one node's; no nodes: its own. */
static int64_t part_of_nodes(const struct hw *hw, int64_t each, int64_t nodes)
{
    const int64_t n = n_csx_of(hw);
    if (!nodes || nodes >= n) return each;
    const int64_t part = (int64_t)((wide)each * nodes / n);
    return part > 0 ? part : 1;
}

/* The lower of two rates, where 0 is no limit. */
static int64_t lower_rate(int64_t a, int64_t b)
{
    if (!a || !b) return a ? a : b;
    return a < b ? a : b;
}

int64_t hw_spill_rate(const struct hw *hw)
{
    const struct hw_activation *a = &hw->cluster->activation;
    const int64_t all = a->rate_bytes_per_s ? part_of_nodes(hw, a->rate_bytes_per_s, a->nodes) : 0;
    const int64_t servers = lower_rate(all, a->servers * a->server_rate_bytes_per_s);
    return lower_rate(servers, hw->cluster->wafer.io_rate_bytes_per_s);
}

double hw_spill_cycles(const struct hw *hw, double bytes)
{
    return bytes * ((double)hw->cluster->wafer.clock_hz / (double)hw_spill_rate(hw));
}

/* Processes of all workers of a system, as many as it has; those of its nodes may be fewer. */
static int64_t n_processes(const struct hw_feed *in, bool evaluation)
{
    const int64_t loaders = evaluation ? in->eval_loaders : in->loaders;
    return in->workers * (loaders > 1 ? loaders : 1);
}

/* What a system has of @p each for every process that makes its samples; 0: no limit. */
static int64_t of_processes(const struct hw *hw, int64_t each, bool evaluation)
{
    const struct hw_feed *in = &hw->cluster->input;
    const int64_t of_node = each * in->workers_per_node;
    return lower_rate(each * n_processes(in, evaluation),
                      of_node ? part_of_nodes(hw, of_node, in->nodes) : 0);
}

static int64_t slowed(int64_t rate, double slowness)
{
    if (!(slowness > 1) || !rate) return rate;
    const int64_t slower = (int64_t)((double)rate / slowness);
    return slower > 0 ? slower : 1;
}

/* The processes of a system take turns with its samples. */
static int64_t made_ps(const struct hw *hw, const struct hw_samples *samples, double slowness)
{
    const struct hw_feed *in = &hw->cluster->input;
    const int64_t tokens = of_processes(hw, in->worker_tokens_per_s, samples->evaluation);
    /* Samples a second, rounded to a thousandth: a node's part may be less than one process. */
    const int64_t thousandths = of_processes(hw, 1000, samples->evaluation);
    WSC_CHECK(thousandths > 0, "a system without input workers");
    const wide work_ps = (wide)samples->n * in->sample_ps * 1000;
    const int64_t begun_ps = (int64_t)(work_ps / slowed(thousandths, slowness));
    return vtime_add_ps(begun_ps, vtime_duration_ps(samples->n_tokens, slowed(tokens, slowness)));
}

/* A token of packed texts has attention_span and position_ids too, 32 bits each. */
static int64_t token_bytes(const struct hw_feed *in, bool evaluation)
{
    enum { PACKED_BYTES = 8 };
    return in->bytes_per_token + ((evaluation ? in->eval_packed : in->packed) ? PACKED_BYTES : 0);
}

int64_t hw_input_ps(const struct hw *hw, int wafer, const struct hw_samples *samples)
{
    const struct hw_feed *in = &hw->cluster->input;
    const double slowness = hw_input_slowness(hw, wafer);
    const int64_t port = part_of_nodes(hw, in->rate_bytes_per_s, in->nodes);
    if (!hw->cluster->effects.input) return 0;
    const int64_t made = made_ps(hw, samples, slowness);
    const int64_t bytes = samples->n_tokens * token_bytes(in, samples->evaluation);
    const int64_t sent = vtime_duration_ps(bytes, slowed(port, slowness));
    return made > sent ? made : sent;
}

int64_t hw_control_ps(const struct hw *hw)
{
    const struct hw_control *c = &hw->cluster->control;
    const int64_t n = n_csx_of(hw);
    return n > 1 ? 2 * c->latency_ps + n * c->per_system_ps : 0;
}

int64_t hw_packet_ps(const struct hw *hw, int64_t rate_bytes_per_s)
{
    const struct hw_machine *c = hw->cluster;
    if (c->swarmx.forwarding != HW_STORE_PACKET) return 0;
    return vtime_duration_ps(c->retransmit.packet_bytes * c->swarmx.planes, rate_bytes_per_s);
}
