// SPDX-License-Identifier: Apache-2.0
/* Computes C = W X with weights that stream in from the edge, as the machine trains. Each weight
 * that is not zero triggers one multiply-add over a PE's tokens. The comment at the colours below
 * describes the steps; docs/MESH.md, "Data movement and products". */
#include "program_gemm_stream.h"
#include "program_job.h"

#include <wsc/mem.h>
#include <wsc/rng.h>

/* Weight streaming: C (m, n) = W (m, k) X (k, n) with activations X in place and weights from the
 * edge.  PE (x, y) holds features x kf .. and tokens y t .. of X in 16 bits.  The weights of an
 * output go down the columns as wavelets (feature, weight). Each wavelet starts one multiply-add of
 * length t into a 32-bit accumulator; zero weights are not sent. A control wavelet ends an output:
 * its partial sums are added along the row, from the east, and leave at the west edge, while the
 * next output uses the other of two accumulators. */

enum { COLOUR_WEIGHTS = 8, QUEUE_WEIGHTS = 0, QUEUE_ROW = 2, THREAD_ROW = 1 };
enum { KF, T };
enum { X_PART, SUMS };

/* The job with its input and output at the edges; all owned. */
struct stream {
    struct programs_job job;
    struct mesh_wavelet *wavelet;
    uint32_t *out;
    struct mesh_output *output; /* of each row */
};

/* Address of accumulator @p which modulo 2. */
static int sums_at(const struct programs_job *j, int which)
{
    return j->address[SUMS] + 4 * (int)j->shape[T] * (which & 1);
}

/* Task of a weight: the upper half of the wavelet is the index of the feature, the lower half the
 * value. One multiply-add over the PE's tokens. */
static enum wsc_err on_weight(struct mesh_pe *pe, uint32_t wavelet)
{
    const struct stream *s = mesh_user(pe);
    const struct programs_job *j = &s->job;
    int t = (int)j->shape[T], feature = (int)(wavelet >> 16);
    int step = j->step[mesh_y(pe) * j->w + mesh_x(pe)];
    const struct mesh_dsd sum = mesh_mem(sums_at(j, step), t);
    return mesh_mac(pe, MESH_FMACHS, sum, sum, mesh_mem(j->address[X_PART] + 2 * t * feature, t),
                    mesh_bits(wavelet & 0xFFFF));
}

/* Task of the control wavelet after an output: clear the next accumulator, add this one to the
 * sums from the east, send the result west. */
static enum wsc_err on_output_end(struct mesh_pe *pe, uint32_t wavelet)
{
    struct stream *s = mesh_user(pe);
    struct programs_job *j = &s->job;
    int t = (int)j->shape[T], x = mesh_x(pe), step = j->step[mesh_y(pe) * j->w + x]++;
    const struct mesh_dsd own = mesh_mem(sums_at(j, step), t), none = {0};
    struct mesh_op add = {.code = MESH_FADDS, .thread = THREAD_ROW, .a = own};
    (void)wavelet;
    TRY(mesh_join(pe, THREAD_ROW)); /* the last output used the next accumulator */
    TRY(mesh_do(pe, MESH_FMOVS, mesh_mem(sums_at(j, step + 1), t), mesh_float(0), none));
    add.dst = mesh_out(x % 2, t);
    if (x + 1 < j->w)
        add.b = mesh_in((x + 1) % 2, t);
    else
        add.code = MESH_FMOVS;
    return mesh_issue(pe, &add);
}

/* Route weights down all columns, and sums westward on two colours, one for even and one for odd
 * columns. */
static enum wsc_err stream_routes(struct programs_job *j)
{
    const struct mesh_route down = {.rx = MESH_NORTH, .tx = MESH_RAMP | MESH_SOUTH};
    const struct mesh_route end = {.rx = MESH_NORTH, .tx = MESH_RAMP};
    const struct mesh_route send = {.rx = MESH_RAMP, .tx = MESH_WEST};
    const struct mesh_route receive = {.rx = MESH_EAST, .tx = MESH_RAMP};
    if (j->h > 1)
        TRY(mesh_route(j->m, (struct mesh_rect){0, 0, j->w, j->h - 1}, COLOUR_WEIGHTS, &down));
    TRY(mesh_route(j->m, (struct mesh_rect){0, j->h - 1, j->w, 1}, COLOUR_WEIGHTS, &end));
    TRY(mesh_input_queue(j->m, programs_job_all(j), QUEUE_WEIGHTS, COLOUR_WEIGHTS));
    for (int x = 0; x < j->w; x++) {
        const struct mesh_rect column = {x, 0, 1, j->h};
        TRY(mesh_route(j->m, column, x % 2, &send));
        TRY(mesh_output_queue(j->m, column, QUEUE_ROW, x % 2));
        if (x + 1 == j->w) continue;
        TRY(mesh_route(j->m, column, (x + 1) % 2, &receive));
        TRY(mesh_input_queue(j->m, column, QUEUE_ROW, (x + 1) % 2));
    }
    return WSC_OK;
}

static uint16_t to_half(const struct programs_job *j, float value)
{
    return mesh_half_from_double(j->c->half, value);
}

/* Fill the wavelets of column @p x in the order of the outputs; returns their number. */
static int64_t fill_column(const struct stream *s, int x, struct mesh_wavelet *w)
{
    const struct programs_job *j = &s->job;
    static const enum mesh_command nothing = MESH_NOP;
    int64_t n = 0, kf = j->shape[KF], k = j->c->k;
    for (int64_t i = 0; i < j->c->m; i++) {
        for (int64_t f = 0; f < kf && x * kf + f < k; f++) {
            uint16_t bits = to_half(j, j->host[0][i * k + x * kf + f]);
            if (bits & 0x7FFF) w[n++] = (struct mesh_wavelet){(uint32_t)f << 16 | bits, false};
        }
        w[n++] = (struct mesh_wavelet){mesh_control(&nothing, 1, PROGRAMS_JOB_NEXT), true};
    }
    return n;
}

/* Allocate for the case that no weight is zero; fill_column() returns the actual numbers. */
static enum wsc_err stream_edges(struct stream *s)
{
    struct programs_job *j = &s->job;
    int64_t column = j->c->m * (j->shape[KF] + 1), words = j->c->m * j->shape[T];
    TRY_NEW(s->wavelet, WSC_MEM_MESH, column * j->w);
    TRY_NEW(s->out, WSC_MEM_MESH, words * j->h);
    TRY_NEW(s->output, WSC_MEM_MESH, j->h);
    for (int x = 0; x < j->w; x++) {
        struct mesh_wavelet *w = s->wavelet + x * column;
        TRY(mesh_edge_source(j->m, x, 0, MESH_NORTH, COLOUR_WEIGHTS, w, fill_column(s, x, w)));
    }
    for (int y = 0; y < j->h; y++) {
        s->output[y] = (struct mesh_output){.word = s->out + y * words, .capacity = words};
        TRY(mesh_edge_sink(j->m, 0, y, MESH_WEST, 0, &s->output[y]));
    }
    return WSC_OK;
}

/* Copy activations to their PEs; make weights with the requested fraction of zeros. */
static enum wsc_err stream_data(struct programs_job *j)
{
    const int64_t n = j->c->n, k = j->c->k, kf = j->shape[KF], t = j->shape[T];
    const uint64_t zeros = wsc_rng_stream(WSC_RNG_TEST, 9);
    uint16_t *part;
    enum wsc_err rc = WSC_OK;
    TRY(programs_job_floats(j, 0, j->c->m * k, true));
    TRY(programs_job_floats(j, 1, k * n, true));
    for (int64_t i = 0; i < j->c->m * k; i++)
        if (j->c->density > 0 && wsc_rng_uniform(j->c->seed, zeros, (uint64_t)i) >= j->c->density)
            j->host[0][i] = 0;
    TRY_NEW(part, WSC_MEM_MESH, kf * t);
    for (int pe = 0; pe < j->w * j->h && !rc; pe++) {
        int x = pe % j->w, y = pe / j->w;
        for (int64_t i = 0; i < kf * t; i++) {
            int64_t feature = x * kf + i / t, token = y * t + i % t;
            bool inside = feature < k && token < n;
            part[i] = inside ? to_half(j, j->host[1][feature * n + token]) : 0;
        }
        rc = mesh_copy_in(j->m, (struct mesh_rect){x, y, 1, 1}, j->address[X_PART], part,
                          kf * t * 2);
    }
    wsc_free(part);
    return rc;
}

/* Compare the sums at the west edge of each row: output by output, the row's tokens. */
static void stream_check(struct stream *s)
{
    struct programs_job *j = &s->job;
    const int64_t m = j->c->m, n = j->c->n, k = j->c->k, t = j->shape[T];
    for (int64_t i = 0; i < m * n; i++) {
        int64_t row = i / n, token = i % n;
        union {
            uint32_t bits;
            float value;
        } got = {s->out[token / t * m * t + row * t + token % t]};
        double sum = 0;
        for (int64_t l = 0; l < k; l++)
            sum += (double)j->host[0][row * k + l] * j->host[1][l * n + token];
        programs_job_compare(j, got.value, sum);
    }
}

static enum wsc_err stream(struct stream *s)
{
    struct programs_job *j = &s->job;
    j->shape[KF] = programs_ceil_div(j->c->k, j->w);
    j->shape[T] = j->r->words = programs_ceil_div(j->c->n, j->h);
    j->r->algo = "stream";
    TRY(mesh_reserve(j->m, programs_job_all(j), j->shape[KF] * j->shape[T] * 2, 0,
                     "the activations", &j->address[X_PART]));
    TRY(mesh_reserve(j->m, programs_job_all(j), 2 * j->shape[T] * 4, 0, "two accumulators",
                     &j->address[SUMS]));
    TRY(stream_data(j));
    TRY(stream_routes(j));
    TRY(stream_edges(s));
    TRY(mesh_data_task(j->m, programs_job_all(j), COLOUR_WEIGHTS, on_weight, MESH_LOW));
    TRY(mesh_task(j->m, programs_job_all(j), PROGRAMS_JOB_NEXT, on_output_end, MESH_LOW));
    TRY(programs_job_run(j));
    for (int y = 0; y < j->h; y++)
        if (s->output[y].n != j->c->m * j->shape[T])
            programs_job_compare(j, (double)s->output[y].n, 0);
    stream_check(s);
    return WSC_OK;
}

enum wsc_err programs_run_stream(const struct programs_case *c, struct programs_result *r)
{
    struct stream s = {0};
    enum wsc_err rc = programs_job_init(&s.job, c, r);
    if (!rc) rc = stream(&s);
    programs_job_fini(&s.job);
    wsc_free(s.wavelet);
    wsc_free(s.out);
    wsc_free(s.output);
    return rc;
}
