// SPDX-License-Identifier: Apache-2.0
/* Positions as numbers: rotary angles (Su et al. 2021) with the scalings of Llama 3, YaRN and
 * LongRoPE, sines of Vaswani et al. 2017, buckets of distances (Raffel et al. 2020), slopes of
 * ALiBi (Press et al. 2022).  The host (host_positions.c, host_relative.c) and the programs of the
 * mesh (program_positions.c, program_distance.c) fill their tables from here. */
#include <wsc/model.h>

#include <math.h>
#include <stdlib.h>

/* ---- rotary: Su et al. 2021, eq. 34, on neighbouring pairs */

/* Grattafiori et al. 2024 (Llama 3.1): long waves are scaled by the factor, short ones are left
 * alone, those between are mixed. */
static double llama3(const struct model *m, double frequency)
{
    const struct zoo_rope_args *a = &m->zoo.pos_scaling_extra_args;
    const double length = (double)a->original_max_position_embeddings;
    const double turns = length * frequency / (2 * M_PI);
    if (turns > a->high_freq_factor) return frequency;
    if (turns < a->low_freq_factor) return frequency / m->position_scale;
    const double smooth = (turns - a->low_freq_factor) / (a->high_freq_factor - a->low_freq_factor);
    return (1 - smooth) * frequency / m->position_scale + smooth * frequency;
}

/* Peng et al. 2023 (YaRN), section 3.2: the pair of the rotation that turns @p turns times within
 * the original length. */
static double yarn_pair(const struct model *m, double turns)
{
    const double length = (double)m->zoo.pos_scaling_extra_args.original_max_position_embeddings;
    return (double)m->rotary_dim * log(length / (turns * 2 * M_PI)) / (2 * log(m->zoo.rope_theta));
}

/* A ramp from the frequency itself (fast pairs) to the scaled one (slow pairs). */
static double yarn(const struct model *m, double frequency, int64_t pair)
{
    double low = fmax(floor(yarn_pair(m, m->zoo.pos_scaling_extra_args.beta_fast)), 0);
    double high = fmin(ceil(yarn_pair(m, m->zoo.pos_scaling_extra_args.beta_slow)),
                       (double)m->rotary_dim - 1);
    if (low == high) high += 0.001;
    const double ramp = fmin(fmax(((double)pair - low) / (high - low), 0), 1);
    const double kept = (1 - ramp) * m->zoo.pos_scaling_extra_args.extrapolation_factor;
    return frequency / m->position_scale * (1 - kept) + frequency * kept;
}

/* Ding et al. 2024 (LongRoPE), section 3.2: a divisor for each pair, of two lists by the length of
 * the model's sequences. */
static bool is_stretched(const struct model *m)
{
    return m->zoo.max_position_embeddings >
           m->zoo.pos_scaling_extra_args.original_max_position_embeddings;
}

static double longrope(const struct model *m, double frequency, int64_t pair)
{
    const struct zoo_rope_args *a = &m->zoo.pos_scaling_extra_args;
    return frequency / (is_stretched(m) ? &a->long_factor : &a->short_factor)->value[pair];
}

/* Its factor of cosines and sines; the rule is that of the paper's code. */
static double longrope_factor(const struct model *m)
{
    const struct zoo_rope_args *a = &m->zoo.pos_scaling_extra_args;
    const double own = is_stretched(m) ? a->long_mscale : a->short_mscale;
    const double length = (double)a->original_max_position_embeddings;
    if (own > 0) return own;
    if (a->attention_factor > 0) return a->attention_factor;
    if (!is_stretched(m)) return 1;
    return sqrt(1 + log((double)m->zoo.max_position_embeddings / length) / log(length));
}

double model_rotary_frequency(const struct model *m, int64_t pair)
{
    const double plain = pow(m->zoo.rope_theta, -2.0 * (double)pair / (double)m->rotary_dim);
    switch (m->zoo.pos_scaling_type) {
    case ZOO_ROPE_LLAMA3:
        return llama3(m, plain);
    case ZOO_ROPE_YARN:
        return yarn(m, plain, pair);
    case ZOO_ROPE_LONGROPE:
        return longrope(m, plain, pair);
    case ZOO_ROPE_LINEAR:
        break;
    }
    return plain / m->position_scale;
}

/* Eq. 22 in the form of its authors. */
double model_rotary_factor(const struct model *m)
{
    if (m->zoo.pos_scaling_type == ZOO_ROPE_LONGROPE) return longrope_factor(m);
    if (m->zoo.pos_scaling_type != ZOO_ROPE_YARN || m->position_scale <= 1) return 1;
    return m->zoo.pos_scaling_extra_args.mscale_a * log(m->position_scale) +
           m->zoo.pos_scaling_extra_args.mscale_b;
}

/* ---- a table of sines, Vaswani et al. 2017, section 3.5: sine and cosine of every wave side by
 * side, waves from 2 pi to 10000 times that */

float model_sine(const struct model *m, int64_t t, int64_t c)
{
    const double longest = 10000;
    const int64_t waves = m->C / 2, wave_of_column = c / 2;
    const double part = waves > 1 ? (double)wave_of_column / (double)(waves - 1) : 0;
    const double angle = (double)t * pow(longest, -part);
    if (c >= 2 * waves) return 0;
    return (float)(c % 2 ? cos(angle) : sin(angle));
}

/* ---- relative positions: Raffel et al. 2020, section 2.1; half of the buckets are of one
 * distance, the others grow with the logarithm of the distance up to 128 */

int64_t model_bucket(const struct model *m, int stack, int64_t distance)
{
    enum { LONGEST = 128 }; /* every longer distance is in the last bucket */
    const bool causal = m->stack[stack].causal;
    const int64_t n = causal ? m->buckets : m->buckets / 2, exact = n / 2;
    const int64_t later = !causal && distance > 0 ? n : 0;
    if (m->buckets == 1) return 0;
    if (causal && distance > 0) distance = 0;
    distance = llabs(distance);
    if (distance < exact) return later + distance;
    const float step = logf((float)distance / (float)exact) /
                       (float)log((double)LONGEST / (double)exact) * (float)(n - exact);
    const int64_t bucket = exact + (int64_t)step;
    return later + (bucket < n ? bucket : n - 1);
}

/* ---- ALiBi: Press et al. 2022, section 3; with a number of heads that is no power of two the
 * slopes of the next smaller one, then every other of the next larger one */

static double slope_of(int64_t heads, int64_t h)
{
    return pow(2, -8.0 * (double)(h + 1) / (double)heads);
}

float model_alibi_slope(const struct model *m, int64_t h)
{
    int64_t power = 1;
    if (m->zoo.position_embedding_type != ZOO_POSITION_ALIBI || m->slopes) return 0;
    while (2 * power <= m->H)
        power *= 2;
    const double slope = h < power ? slope_of(power, h) : slope_of(2 * power, 2 * (h - power));
    return (float)(slope / m->position_scale);
}
