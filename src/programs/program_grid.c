// SPDX-License-Identifier: Apache-2.0
/* Maps features and tokens to the fabric: features of a tensor or of heads to columns, tokens
 * round-robin to rows. It reserves memory for tiles, copies between host and PEs, and has the
 * frame in which every program of a transformer runs. */
#include "program_grid.h"
#include "program_resources.h"

#include <wsc/check.h>
#include <wsc/mem.h>
#include <wsc/mesh_snapshot.h>
#include <wsc/programs.h>

#include <math.h>
#include <stddef.h>
#include <string.h>

static int ceil_div(int a, int b)
{
    return (a + b - 1) / b;
}

/* Rows with an even distance start in the same bank. */
static int even(int words)
{
    return words + words % 2;
}

/* ---- features on columns --------------------------------------------------------------------- */

/* Allocate the arrays of the features; programs_features_fini() frees them, also after an error. */
static enum wsc_err allocate(struct programs_features *f, int w)
{
    TRY_NEW(f->count, WSC_MEM_KERNELS, w);
    TRY_NEW(f->column, WSC_MEM_KERNELS, f->n);
    TRY_NEW(f->slot, WSC_MEM_KERNELS, f->n);
    TRY_NEW(f->order, WSC_MEM_KERNELS, f->n);
    TRY_NEW(f->by_slot, WSC_MEM_KERNELS, f->n);
    return WSC_OK;
}

/* Number of features on the columns before @p x. */
static int first_of(const struct programs_features *f, int x)
{
    int n = 0;
    for (int i = 0; i < x; i++)
        n += f->count[i];
    return n;
}

/* From the column and slot of each feature compute the count of each column and the orders. */
static void count_features(struct programs_features *f, int w)
{
    int n = 0;
    for (int i = 0; i < f->n; i++)
        f->count[f->column[i]]++;
    for (int i = 0; i < f->n; i++)
        f->order[first_of(f, f->column[i]) + f->slot[i]] = i;
    for (int slot = 0; slot < f->slots; slot++) {
        for (int x = 0; x < w; x++)
            if (slot < f->count[x]) f->by_slot[n++] = f->order[first_of(f, x) + slot];
    }
}

enum wsc_err programs_features_init(struct programs_features *f, int n, int w)
{
    const int slots = ceil_div(n, w);
    WSC_CHECK(slots > 0, "%d features", n);
    *f = (struct programs_features){.n = n, .slots = slots, .group_cols = w, .heads_per_pe = 1};
    TRY(allocate(f, w));
    for (int i = 0; i < n; i++) {
        f->column[i] = i / slots;
        f->slot[i] = i % slots;
    }
    count_features(f, w);
    return WSC_OK;
}

/* Unit of feature @p i of a head, whose features must stay on one PE, and its index in the unit.
 * Without pairs each feature is a unit. */
static void unit_of(int i, int units, enum programs_pairing pairing, int *unit, int *index)
{
    *unit = pairing == PROGRAMS_NO_PAIRS         ? i
            : pairing == PROGRAMS_PAIRS_ADJACENT ? i / 2
                                                 : i % units;
    *index = pairing == PROGRAMS_NO_PAIRS         ? 0
             : pairing == PROGRAMS_PAIRS_ADJACENT ? i % 2
                                                  : i / units;
}

/* Set @p cols to the columns of a head (0: several heads share one); returns the units of a head
 * on one of them. */
static int units_per_column(int heads, int units, int w, int *cols)
{
    *cols = w / heads < units ? w / heads : units;
    return *cols ? ceil_div(units, *cols) : units;
}

int programs_head_slots(int heads, int d, int w, int unit)
{
    int cols;
    const int per = units_per_column(heads, d / unit, w, &cols);
    return per * unit * (cols ? 1 : ceil_div(heads, w));
}

enum wsc_err programs_features_init_heads(struct programs_features *f, int heads, int d, int w,
                                          enum programs_pairing pairing)
{
    const int size = pairing == PROGRAMS_NO_PAIRS ? 1 : 2, units = d / size;
    int cols;
    WSC_CHECK(heads > 0 && units > 0 && d % size == 0, "%d heads of %d features", heads, d);
    const int per = units_per_column(heads, units, w, &cols);
    const int group = cols ? ceil_div(units, per) : 1, shared = cols ? 1 : ceil_div(heads, w);
    WSC_CHECK(per > 0 && shared > 0, "%d heads on %d columns", heads, w);
    *f = (struct programs_features){.n = heads * d,
                                    .slots = programs_head_slots(heads, d, w, size),
                                    .group_cols = group,
                                    .heads_per_pe = shared,
                                    .head_dim = d};
    TRY(allocate(f, w));
    for (int i = 0; i < f->n; i++) {
        int head = i / d, unit, index;
        unit_of(i % d, units, pairing, &unit, &index);
        f->column[i] = head / shared * group + unit / per;
        f->slot[i] = head % shared * d + unit % per * size + index;
    }
    count_features(f, w);
    return WSC_OK;
}

enum wsc_err programs_features_init_counts(struct programs_features *f, const int *count, int w)
{
    *f = (struct programs_features){.group_cols = w, .heads_per_pe = 1};
    for (int x = 0; x < w; x++) {
        f->n += count[x];
        if (count[x] > f->slots) f->slots = count[x];
    }
    TRY(allocate(f, w));
    for (int x = 0, i = 0; x < w; x++) {
        for (int slot = 0; slot < count[x]; slot++, i++) {
            f->column[i] = x;
            f->slot[i] = slot;
        }
    }
    count_features(f, w);
    return WSC_OK;
}

void programs_features_fini(struct programs_features *f)
{
    wsc_free(f->count);
    wsc_free(f->column);
    wsc_free(f->slot);
    wsc_free(f->order);
    wsc_free(f->by_slot);
    *f = (struct programs_features){0};
}

/* ---- the grid -------------------------------------------------------------------------------- */

/* Set the order of keys: row by row, as they are collected; in a row every @p step th token, then
 * the next ones. */
static void order_keys(struct programs_grid *g, int step)
{
    int n = 0;
    g->key_step = step;
    for (int y = 0; y < g->h; y++) {
        for (int i = 0, at = 0; i < programs_tokens(g, y); i++) {
            g->key_row[n] = y;
            g->key_token[n++] = at * g->h + y;
            at += step;
            if (at >= programs_tokens(g, y)) at = at % step + 1;
        }
    }
}

void programs_order_keys(struct programs_grid *g, const struct programs_features *f)
{
    const int columns_of_a_row = ceil_div(f->group_cols, g->h);
    const int tokens = programs_tokens(g, 0);
    order_keys(g, columns_of_a_row < tokens ? columns_of_a_row : tokens);
}

/* Rows with this distance start in the same bank. For 16-bit numbers, access from slot to slot
 * takes two elements per cycle; a distance of a multiple of eight would halve that. */
static int pitch_of(int tokens, bool half)
{
    enum { BANKS = 4, ROWS = 8 };
    return half ? (tokens + BANKS - 1) / ROWS * ROWS + BANKS : even(tokens);
}

/* Register the counters of the PEs as state of the fabric, for snapshots. */
static enum wsc_err note_registers(struct programs_grid *g)
{
    int32_t *const array[] = {g->item, g->sub, g->sent, g->scored, g->passed};
    for (int i = 0; i < (int)(sizeof array / sizeof *array); i++)
        TRY(mesh_note(g->m, array[i], sizeof *array[i]));
    return mesh_note(g->m, g->items, sizeof *g->items);
}

/* Number of PEs of all lanes; columns that are left over do nothing. */
static int64_t n_pes(const struct programs_grid *g)
{
    return (int64_t)g->lanes * g->w * g->h;
}

static struct mesh_rect all_lanes(const struct programs_grid *g)
{
    return (struct mesh_rect){0, 0, g->lanes * g->w, g->h};
}

/* Number of lanes with more than @p n samples; these lanes come first. */
static int lanes_beyond(const struct programs_grid *g, int n)
{
    int lanes = 0;
    while (lanes < g->lanes && g->lane_samples[lanes] > n)
        lanes++;
    return lanes;
}

void programs_distribute(struct programs_grid *g, int n)
{
    const int leaves = n / g->leaf_samples, remainder = n % g->leaf_samples;
    for (int i = 0; i < g->lanes; i++)
        g->lane_samples[i] = (leaves + g->lanes - 1 - i) / g->lanes * g->leaf_samples +
                             (leaves % g->lanes == i ? remainder : 0);
    g->all_samples = n;
    g->n_samples = g->lane_samples[0];
    g->active = lanes_beyond(g, 0);
}

enum wsc_err programs_grid_init(struct programs_grid *g, const struct programs_grid_config *config)
{
    const bool half = config->format != NUM_FP32;
    struct mesh_config own = config->mesh;
    const int most = ceil_div((int)config->T, own.h), lanes = config->lanes ? config->lanes : 1;
    const int leaf = config->leaf_samples ? config->leaf_samples : config->max_samples;
    *g = (struct programs_grid){.w = own.w / lanes,
                                .h = own.h,
                                .lanes = lanes,
                                .leaf_samples = leaf,
                                .T = config->T,
                                .tokens = even(most),
                                .half = half,
                                .both_ways = config->both_ways,
                                .format = num_half_of(config->format)};
    own.half = g->format;
    own.user = g;
    TRY_NEW(g->lane_samples, WSC_MEM_KERNELS, lanes);
    programs_distribute(g, config->max_samples);
    g->max_samples = g->n_samples;
    g->pitch = pitch_of(g->max_samples * most, half);
    TRY(mesh_create(&g->m, &own));
    TRY_NEW(g->item, WSC_MEM_KERNELS, n_pes(g));
    TRY_NEW(g->sub, WSC_MEM_KERNELS, n_pes(g));
    TRY_NEW(g->sent, WSC_MEM_KERNELS, n_pes(g));
    TRY_NEW(g->scored, WSC_MEM_KERNELS, n_pes(g));
    TRY_NEW(g->passed, WSC_MEM_KERNELS, n_pes(g));
    TRY_NEW(g->items, WSC_MEM_KERNELS, n_pes(g));
    TRY(note_registers(g));
    TRY_NEW(g->key_row, WSC_MEM_KERNELS, g->T);
    TRY_NEW(g->key_token, WSC_MEM_KERNELS, g->T);
    order_keys(g, 1);
    return WSC_OK;
}

enum wsc_err programs_arch_of(const struct hw *hw, enum mesh_arch *arch)
{
    const int64_t hop = hw->cluster->wafer.hop_cycles;
    if (mesh_arch_of(hop, arch)) return WSC_OK;
    return WSC_RAISE(WSC_CONFIG,
                     "cluster.wafer.hop_cycles is %lld; the emulated fabrics have %d (WSE-2) or %d "
                     "(WSE-3)",
                     (long long)hop, mesh_latencies_of(MESH_WSE2).hop,
                     mesh_latencies_of(MESH_WSE3).hop);
}

void programs_documented_rates(struct hw_machine *machine, enum mesh_arch arch)
{
    machine->wafer.simd_fmachs = arch == MESH_WSE3 ? 4 : 2; /* SDK appendix "SIMD" */
}

/* Rates are rounded to the nearest eighth of a cycle. mesh_trigger.wait, which is the sum of the
 * cycles of an arrival and of an index, counts eighths in 16 bits. */
enum wsc_err programs_grid_rates(struct programs_grid *g, const struct hw_wafer *w)
{
    enum { PARTS = 8, MOST_CYCLES = 4096, MOST_SUM = UINT16_MAX / PARTS, MOST_OF_MAP = 400 };
    if (w->exp_cycles < 1 || w->divide_cycles < 1 || w->exp_cycles > MOST_OF_MAP ||
        w->divide_cycles > MOST_OF_MAP)
        return WSC_RAISE(
            WSC_CONFIG,
            "cluster.wafer.exp_cycles is %lld and cluster.wafer.divide_cycles %lld; on "
            "the mesh they must lie in 1 .. %d",
            (long long)w->exp_cycles, (long long)w->divide_cycles, MOST_OF_MAP);
    if (w->data_triggered && w->arrival_cycles > MOST_CYCLES)
        return WSC_RAISE(WSC_CONFIG,
                         "cluster.wafer.arrival_cycles is %g; on the mesh at most %d can pass",
                         w->arrival_cycles, MOST_CYCLES);
    if (w->data_triggered && w->arrival_cycles + w->sparse_index_cycles > MOST_SUM)
        return WSC_RAISE(WSC_CONFIG,
                         "cluster.wafer.sparse_index_cycles is %g and cluster.wafer.arrival_cycles "
                         "%g; on the mesh at most %d can pass together",
                         w->sparse_index_cycles, w->arrival_cycles, MOST_SUM);
    if (w->sum_accumulators > PROGRAMS_MOST_ACCUMULATORS)
        return WSC_RAISE(WSC_CONFIG,
                         "cluster.wafer.sum_accumulators is %lld; programs of the mesh take at "
                         "most %d",
                         (long long)w->sum_accumulators, PROGRAMS_MOST_ACCUMULATORS);
    g->exp_cycles = (int)w->exp_cycles;
    g->divide_cycles = (int)w->divide_cycles;
    g->loop_cycles = (int)w->vector_loop_cycles;
    g->by_data = w->data_triggered;
    g->arrival_eighths = (int)lround(PARTS * w->arrival_cycles);
    g->index_eighths = (int)lround(PARTS * w->sparse_index_cycles);
    g->accumulators = (int)w->sum_accumulators;
    return WSC_OK;
}

void programs_grid_fini(struct programs_grid *g)
{
    mesh_destroy(&g->m);
    wsc_free(g->item);
    wsc_free(g->sub);
    wsc_free(g->sent);
    wsc_free(g->scored);
    wsc_free(g->passed);
    wsc_free(g->items);
    wsc_free(g->key_row);
    wsc_free(g->key_token);
    wsc_free(g->lane_samples);
    *g = (struct programs_grid){0};
}

enum wsc_err programs_reserve_words(struct programs_grid *g, int64_t words, enum programs_bank bank,
                                    const char *what, int *address)
{
    return mesh_reserve(g->m, all_lanes(g), 4 * words, 4 * (int)bank, what, address);
}

static enum wsc_err reserve_tile(struct programs_grid *g, struct programs_tile *t, const char *what)
{
    const int64_t slots = t->f ? t->f->slots : 1;
    return mesh_reserve(g->m, all_lanes(g), slots * programs_pitch(g, t) * programs_bytes(t->half),
                        0, what, &t->address);
}

enum wsc_err programs_reserve_tile(struct programs_grid *g, struct programs_tile *t,
                                   const struct programs_features *f, const char *what)
{
    t->f = f;
    t->half = g->half;
    t->pitch = 0;
    return reserve_tile(g, t, what);
}

enum wsc_err programs_reserve_wide(struct programs_grid *g, struct programs_tile *t,
                                   const struct programs_features *f, int columns, const char *what)
{
    t->f = f;
    t->half = g->half;
    t->pitch = pitch_of(columns, g->half);
    return reserve_tile(g, t, what);
}

enum wsc_err programs_reserve_sums(struct programs_grid *g, struct programs_tile *t,
                                   const struct programs_features *f, const char *what)
{
    t->f = f;
    t->half = false;
    t->pitch = 0;
    return reserve_tile(g, t, what);
}

/* ---- numbers --------------------------------------------------------------------------------- */

enum mesh_code programs_code(bool half, enum mesh_code code)
{
    static const enum mesh_code of[MESH_N_CODES] = {
        [MESH_FMOVS] = MESH_FMOVH, [MESH_FADDS] = MESH_FADDH, [MESH_FSUBS] = MESH_FSUBH,
        [MESH_FMULS] = MESH_FMULH, [MESH_FMAXS] = MESH_FMAXH, [MESH_FMACS] = MESH_FMACHS,
        [MESH_MAP] = MESH_MAPH,
    };
    WSC_CHECK(of[code] || !half, "operation %d has no 16-bit form", (int)code);
    return half ? of[code] : code;
}

uint32_t programs_word(const struct programs_grid *g, bool half, float value)
{
    uint32_t bits;
    if (half) return mesh_half_from_double(g->format, (double)value);
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

struct mesh_dsd programs_scalar(const struct programs_grid *g, bool half, float value)
{
    return mesh_bits(programs_word(g, half, value));
}

/* ---- tiles and the host ---------------------------------------------------------------------- */

static float number_at(const struct programs_grid *g, const uint8_t *bytes, bool half)
{
    uint16_t bits;
    float value;
    if (!half) {
        memcpy(&value, bytes, sizeof value);
        return value;
    }
    memcpy(&bits, bytes, sizeof bits);
    return mesh_half_to_float(g->format, bits);
}

/* Copy between the host and @p part (slots x pitch), what PE (x, y) holds of @p t: to @p to, or
 * from @p from. */
static void exchange(const struct programs_grid *g, const struct programs_tile *t,
                     struct mesh_rect at, uint8_t *part, float *to, const float *from)
{
    const int row_number = at.x / g->w * g->h + at.y, n = programs_row_tokens(g, row_number);
    const int features = t->f->n, size = programs_bytes(t->half);
    for (int i = 0; i < features; i++) {
        if (t->f->column[i] != at.x % g->w) continue;
        uint8_t *row = part + (ptrdiff_t)t->f->slot[i] * g->pitch * size;
        for (int j = 0; j < n; j++) {
            const int64_t token = programs_token_at(g, row_number, j);
            if (to) to[token * features + i] = number_at(g, row + (ptrdiff_t)j * size, t->half);
            if (!from) continue;
            const uint32_t word = programs_word(g, t->half, from[token * features + i]);
            memcpy(row + (ptrdiff_t)j * size, &word, (size_t)size);
        }
    }
}

static enum wsc_err copy_tile(struct programs_grid *g, const struct programs_tile *t, float *to,
                              const float *from)
{
    const int64_t bytes = (int64_t)t->f->slots * g->pitch * programs_bytes(t->half);
    enum wsc_err rc = WSC_OK;
    uint8_t *part;
    TRY_NEW(part, WSC_MEM_KERNELS, bytes);
    for (int i = 0; i < (int)n_pes(g) && !rc; i++) {
        const struct mesh_rect at = {i % (g->lanes * g->w), i / (g->lanes * g->w), 1, 1};
        if (to) rc = mesh_copy_out(g->m, at, t->address, part, bytes);
        if (!rc) exchange(g, t, at, part, to, from);
        if (from && !rc) rc = mesh_copy_in(g->m, at, t->address, part, bytes);
    }
    wsc_free(part);
    return rc;
}

enum wsc_err programs_tile_in(struct programs_grid *g, const struct programs_tile *t,
                              const float *host)
{
    return copy_tile(g, t, NULL, host);
}

enum wsc_err programs_tile_out(struct programs_grid *g, const struct programs_tile *t, float *host)
{
    return copy_tile(g, t, host, NULL);
}

/* ---- programs -------------------------------------------------------------------------------- */

enum wsc_err programs_begin(struct programs_grid *g, void *program, int first_sample)
{
    const size_t n = (size_t)n_pes(g);
    g->program = program;
    g->active = lanes_beyond(g, first_sample);
    memset(g->item, 0, n * sizeof *g->item);
    memset(g->sub, 0, n * sizeof *g->sub);
    memset(g->sent, 0, n * sizeof *g->sent);
    memset(g->scored, 0, n * sizeof *g->scored);
    memset(g->passed, 0, n * sizeof *g->passed);
    memset(g->items, 0, n * sizeof *g->items);
    TRY(mesh_clear(g->m));
    /* Reservations of the program start here; programs_run() releases them. */
    return mesh_reserve(g->m, all_lanes(g), 0, 0, "nothing", &g->scratch);
}

enum wsc_err programs_feed(struct programs_grid *g, int x, int colour,
                           const struct mesh_wavelet *wavelet, int64_t n)
{
    for (int lane = 0; lane < g->active; lane++)
        TRY(mesh_edge_source(g->m, lane * g->w + x, 0, MESH_NORTH, colour, wavelet, n));
    return WSC_OK;
}

enum wsc_err programs_main(struct programs_grid *g, mesh_task_fn fn)
{
    TRY(mesh_task(g->m, programs_all(g), PROGRAMS_TASK_MAIN, fn, MESH_MEDIUM));
    return mesh_start(g->m, programs_all(g), PROGRAMS_TASK_MAIN);
}

/* Programs of a scope have numbers, whether they repeat or not. */
static enum wsc_err announce(struct programs_grid *g)
{
    const uint64_t number = g->repeats.n++;
    if (!g->repeats.on || number >= PROGRAMS_OF_SCOPE) return WSC_OK;
    return mesh_repeat(g->m, g->repeats.scope + number);
}

enum wsc_err programs_run(struct programs_grid *g)
{
    TRY(announce(g));
    mesh_watch_attach(g->m, g->n_programs == g->watched ? g->watch : NULL);
    TRY(mesh_run(g->m, &g->stats));
    if (g->stats.cycles > g->longest_cycles) {
        g->longest_cycles = g->stats.cycles;
        g->longest = g->n_programs;
    }
    g->n_programs++;
    g->total.cycles += g->stats.cycles;
    g->total.wavelets += g->stats.wavelets;
    g->total.wavelet_hops += g->stats.wavelet_hops;
    g->total.elements += g->stats.elements;
    return mesh_release(g->m, all_lanes(g), g->scratch);
}
