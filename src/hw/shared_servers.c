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

/* A number that need not be whole: a system's part of nodes that it shares. */
struct ratio {
    int64_t num, den;
};

/* Processes that make the samples of a system: as many as its workers have, or those of the nodes
 * that it has, if these are fewer. */
static struct ratio n_processes(const struct hw *hw, bool evaluation)
{
    const struct hw_feed *in = &hw->cluster->input;
    const int64_t loaders = evaluation ? in->eval_loaders : in->loaders, n = n_csx_of(hw);
    const bool shares = in->nodes && in->nodes < n;
    const struct ratio own = {in->workers * (loaders > 1 ? loaders : 1), 1};
    const struct ratio part = {in->workers_per_node * (shares ? in->nodes : 1), shares ? n : 1};
    const bool fewer = in->workers_per_node && (wide)part.num < (wide)own.num * part.den;
    return fewer ? part : own;
}

/* Time of @p amount at @p per_s a second for each process, rounded up. */
static int64_t time_of(int64_t amount, int64_t per_s, struct ratio processes)
{
    const wide rate = (wide)per_s * processes.num;
    const wide ps = rate ? ((wide)amount * VTIME_PS_PER_S * processes.den + rate - 1) / rate : 0;
    return ps < VTIME_END ? (int64_t)ps : VTIME_END;
}

static int64_t slowed(int64_t ps, double slowness)
{
    const double slower = (double)ps * slowness;
    if (!(slowness > 1)) return ps;
    return slower < (double)VTIME_END ? (int64_t)slower : VTIME_END;
}

/* The processes of a system take turns with its samples. */
static int64_t made_ps(const struct hw *hw, const struct hw_samples *samples)
{
    const struct hw_feed *in = &hw->cluster->input;
    const struct ratio processes = n_processes(hw, samples->evaluation);
    WSC_CHECK(processes.num > 0, "a system without input workers");
    const wide begun = (wide)samples->n * in->sample_ps * processes.den / processes.num;
    return vtime_add_ps(begun < VTIME_END ? (int64_t)begun : VTIME_END,
                        time_of(samples->n_tokens, in->worker_tokens_per_s, processes));
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
    const int64_t made = made_ps(hw, samples);
    const int64_t bytes = samples->n_tokens * token_bytes(in, samples->evaluation);
    const int64_t sent = vtime_duration_ps(bytes, port);
    return slowed(made > sent ? made : sent, slowness);
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
