// SPDX-License-Identifier: Apache-2.0
/* Dropout as a function of seed, step, place and element (wsc_rng), so that it does not depend on
 * who computes it: the rates and the random streams of its places.  Values on the host and on the
 * mesh take both from here, and the scale
 * of token dropout. */
#include <wsc/model.h>
#include <wsc/rng.h>

enum { PLACE_BITS = 2, LAYER_BITS = 14, KIND_BITS = 8 };

static double rate_of(const struct model *m, int stack, enum model_drop_place place)
{
    const double rate[] = {[MODEL_DROP_EMBED] = m->zoo.embedding_dropout_rate,
                           [MODEL_DROP_SCORES] = m->zoo.attention_dropout_rate,
                           [MODEL_DROP_ATTN] = m->zoo.dropout_rate,
                           [MODEL_DROP_FFN] = m->zoo.dropout_rate,
                           [MODEL_DROP_FILTER] = m->stack[stack].filter_dropout,
                           [MODEL_DROP_TASK] = m->head[0].dropout,
                           [MODEL_DROP_CROSS_SCORES] = m->zoo.attention_dropout_rate,
                           [MODEL_DROP_CROSS] = m->zoo.dropout_rate,
                           [MODEL_DROP_MEMORY] = m->memory_dropout};
    return rate[place];
}

/* Layer and place as a number of PLACE_BITS + LAYER_BITS.  There are at most 2^13 layers, 2^12
 * where a decoder attends to an encoder, and an embedding has one: the further places take what
 * these leave free. */
static uint64_t place_number(int stack, int64_t at, enum model_drop_place place)
{
    enum { OF_FILTER = 1 << (LAYER_BITS - 1), OF_CROSS = 1 << (LAYER_BITS - 2), N_PLACES = 9 };
    const int64_t layer = at < 0 ? 0 : at;
    const struct {
        int64_t layer;
        uint64_t place;
    } as[N_PLACES] = {[MODEL_DROP_EMBED] = {2 * (int64_t)stack, MODEL_DROP_EMBED},
                      [MODEL_DROP_SCORES] = {layer, MODEL_DROP_SCORES},
                      [MODEL_DROP_ATTN] = {layer, MODEL_DROP_ATTN},
                      [MODEL_DROP_FFN] = {layer, MODEL_DROP_FFN},
                      [MODEL_DROP_FILTER] = {layer | OF_FILTER, MODEL_DROP_FFN},
                      [MODEL_DROP_TASK] = {1, MODEL_DROP_EMBED},
                      [MODEL_DROP_CROSS_SCORES] = {layer | OF_CROSS, MODEL_DROP_SCORES},
                      [MODEL_DROP_CROSS] = {layer | OF_CROSS, MODEL_DROP_ATTN},
                      [MODEL_DROP_MEMORY] = {3, MODEL_DROP_EMBED}};
    return (uint64_t)as[place].layer << PLACE_BITS | as[place].place;
}

static struct model_dropout dropout(double rate)
{
    const double two_to_32 = 4294967296.0;
    return (struct model_dropout){.below = (uint64_t)(rate * two_to_32),
                                  .factor = rate < 1 ? (float)(1.0 / (1.0 - rate)) : 0};
}

struct model_dropout model_dropout_at(const struct model *m, int stack, int64_t layer,
                                      enum model_drop_place place)
{
    struct model_dropout d = dropout(rate_of(m, stack, place));
    d.number = place_number(stack, layer, place);
    return d;
}

/* Outside the blocks the layer is the last number. */
struct model_dropout model_adapter_dropout(const struct model *m, int64_t layer,
                                           enum model_tensor_kind kind)
{
    struct model_dropout d = dropout(m->adapter[kind].dropout);
    d.number = ((uint64_t)layer & ((1U << LAYER_BITS) - 1)) << KIND_BITS | (uint64_t)kind;
    d.of_adapter = true;
    return d;
}

uint64_t model_dropout_seed(const struct model *m, int64_t step)
{
    return wsc_rng_u64(m->seed, wsc_rng_stream(WSC_RNG_DROPOUT, 0), (uint64_t)step);
}

uint64_t model_dropout_stream(const struct model_dropout *d, int64_t sample)
{
    const int bits = LAYER_BITS + (d->of_adapter ? KIND_BITS : PLACE_BITS);
    return wsc_rng_stream(d->of_adapter ? WSC_RNG_ADAPTER : WSC_RNG_DROPOUT,
                          (uint64_t)sample << bits | d->number);
}

/* 15 % of the tokens of a training are masked, 80 % of these by a mask. */
float model_token_scale(const struct model *m, const int32_t *ids, const int32_t *attends,
                        int64_t T)
{
    const double kept = 1 - 0.15 * 0.8;
    int64_t n = 0, n_masks = 0;
    for (int64_t t = 0; t < T; t++) {
        n += attends ? attends[t] : 1;
        n_masks += ids[t] == m->mask_token;
    }
    return n_masks < n ? (float)(kept / (1 - (double)n_masks / (double)n)) : 0;
}
