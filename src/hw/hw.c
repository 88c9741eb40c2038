// SPDX-License-Identifier: Apache-2.0
/* The emulated hardware as numbers for the time model: picoseconds of cycles, rounded up in exact
 * integers, rates without lost planes, power, and the switches of its effects.  machine_file.c
 * reads the constants, fault_events.c adds faults. */
#include <wsc/hw.h>

#include <wsc/check.h>

#include <math.h>

static const int64_t ps_per_s = 1000000000000;

/* ceil(n * mul / div) without an intermediate beyond 64 bits, for n < div <= 9e12 and
 *  mul = 1e12: two decimal halves of six digits each. */
static int64_t scaled_remainder(int64_t n, int64_t div)
{
    const int64_t half = 1000000;
    int64_t high = n * half / div, rest = n * half % div;
    return high * half + (rest * half + div - 1) / div;
}

/* Whole seconds and the rest apart: cycles * 1e12 would exceed 64 bits after 10 ms. */
int64_t hw_cycles_to_ps(const struct hw *hw, int64_t cycles)
{
    int64_t clock = hw->cluster->wafer.clock_hz, whole;
    WSC_CHECK(clock > 0 && clock <= ps_per_s && cycles >= 0, "%lld cycles at %lld Hz",
              (long long)cycles, (long long)clock);
    bool over = __builtin_mul_overflow(cycles / clock, ps_per_s, &whole);
    over |= __builtin_add_overflow(whole, scaled_remainder(cycles % clock, clock), &whole);
    return over ? INT64_MAX : whole;
}

double hw_io_cycles(const struct hw *hw, double bytes)
{
    const struct hw_wafer *w = &hw->cluster->wafer;
    return bytes * ((double)w->clock_hz / (double)w->io_rate_bytes_per_s);
}

int64_t hw_traversal_ps(const struct hw *hw)
{
    const struct hw_wafer *w = &hw->cluster->wafer;
    return hw_cycles_to_ps(hw, (w->pe_cols + w->pe_rows) * w->hop_cycles);
}

int64_t hw_stage_latency_ps(const struct hw_machine *machine, int n_adapters, int n_conditions,
                            bool backward)
{
    const struct hw_wafer *w = &machine->wafer;
    const double forward =
        1 + n_adapters * w->adapter_kernels + n_conditions * w->condition_kernels;
    return llround((double)w->stage_latency_ps * forward * (backward ? w->backward_kernels : 1));
}

int64_t hw_n_pes(const struct hw *hw)
{
    return hw->cluster->wafer.pe_cols * hw->cluster->wafer.pe_rows;
}

int64_t hw_activation_bytes_per_pe(const struct hw *hw)
{
    const struct hw_wafer *w = &hw->cluster->wafer;
    return w->sram_bytes_per_pe - w->sram_reserved_bytes_per_pe;
}

int64_t hw_activation_bytes(const struct hw *hw)
{
    return hw_n_pes(hw) * hw_activation_bytes_per_pe(hw);
}

/* Nodes of one level above @p children. */
static int64_t parents(const struct hw *hw, int64_t children)
{
    int64_t fanout = hw->cluster->swarmx.fanout;
    WSC_CHECK(fanout >= 2 && children >= 1, "fan-out %lld of %lld children", (long long)fanout,
              (long long)children);
    return (children - 1) / fanout + 1;
}

/* Nodes of the SwarmX tree above @p n_csx wafers: the sum over its levels of ceil(children /
 * fan-out); none above one wafer. */
static int64_t swarmx_nodes(const struct hw *hw, int64_t n_csx)
{
    int64_t nodes = 0;
    for (int64_t n = n_csx; n > 1;) {
        n = parents(hw, n);
        nodes += n;
    }
    return nodes;
}

double hw_cluster_power_w(const struct hw *hw, int64_t n_csx)
{
    const struct hw_machine *c = hw->cluster;
    return (double)n_csx * (double)c->wafer.system_power_w +
           (double)swarmx_nodes(hw, n_csx) * (double)c->swarmx.node_power_w +
           (double)c->memoryx.shards * (double)c->memoryx.shard_power_w;
}

/* ---- mechanisms ------------------------------------------------------------------------------ */

__extension__ typedef __int128 wide;

/* What is left of a rate for the payload of packets. */
static int64_t payload_rate(const struct hw_machine *c, int64_t rate)
{
    const int64_t payload = c->retransmit.packet_bytes, header = c->swarmx.header_bytes;
    if (!header || !payload || !rate) return rate;
    const int64_t left = (int64_t)((wide)rate * payload / (payload + header));
    return left > 0 ? left : 1;
}

static void apply_network(struct hw_machine *out)
{
    if (!out->effects.network) {
        out->swarmx.header_bytes = 0;
        out->swarmx.forwarding = HW_CUT_THROUGH;
        out->memoryx.incast = 1;
        return;
    }
    int64_t *const rate[] = {
        &out->wafer.io_rate_bytes_per_s,     &out->swarmx.link_rate_bytes_per_s,
        &out->memoryx.link_rate_bytes_per_s, &out->input.rate_bytes_per_s,
        &out->activation.rate_bytes_per_s,   &out->activation.server_rate_bytes_per_s};
    for (size_t i = 0; i < sizeof rate / sizeof *rate; i++)
        *rate[i] = payload_rate(out, *rate[i]);
}

/* Effects that are not constants (boundary, reduce, input) act where they are computed. */
void hw_apply_effects(struct hw_machine *out, const struct hw_machine *cluster)
{
    const struct hw_effects *e = &cluster->effects;
    *out = *cluster;
    if (!e->latency) {
        out->swarmx.link_latency_ps = out->swarmx.latency_ps = out->swarmx.add_latency_ps = 0;
        out->memoryx.link_latency_ps = 0;
    }
    if (!e->jitter) out->jitter = out->jitter_stage = out->jitter_system = 0;
    if (!e->activation) out->activation = (struct hw_activation){0};
    if (!e->control) out->control = (struct hw_control){0};
    if (!e->checkpoint) out->checkpoint.rate_params_per_s = 0;
    if (!e->restarts) out->reliability.mtbf_hours = 0;
    apply_network(out);
}

bool *hw_effect(struct hw_machine *cluster, int i, const char **name)
{
    struct hw_effects *e = &cluster->effects;
    const struct {
        const char *name;
        bool *on;
    } row[] = {
#define ROW(name, without) {#name, &e->name},
        HW_EFFECT_MAP(ROW)
#undef ROW
    };
    if (i < 0 || i >= (int)(sizeof row / sizeof *row)) return NULL;
    *name = row[i].name;
    return row[i].on;
}

int64_t hw_rate_without_planes(const struct hw *hw, int64_t rate_bytes_per_s, int64_t lost)
{
    const int64_t planes = hw->cluster->swarmx.planes;
    if (!lost) return rate_bytes_per_s;
    WSC_CHECK(lost > 0 && lost < planes, "%lld of %lld planes lost", (long long)lost,
              (long long)planes);
    const int64_t rate = (int64_t)((wide)rate_bytes_per_s * (planes - lost) / planes);
    return rate > 0 ? rate : 1;
}
