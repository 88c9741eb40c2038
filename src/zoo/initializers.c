// SPDX-License-Identifier: Apache-2.0
/* Initializers of weights, as the Model Zoo names them: a name, or a map with a name and numbers.
 * Several names are those of PyTorch and of TensorFlow for special cases of variance scaling:
 * Glorot and Bengio 2010 (xavier, glorot), LeCun et al. 1998, He et al. 2015 (kaiming).
 * src/model/model_init.c samples the weights. */
#include "params_values.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* State of a map that is being read. */
struct init_map {
    struct zoo_init init; /* first: the dump writes from here */
    double gain;          /* gain of PyTorch, whose square is a factor of the scale */
};

/* clang-format off */
#define KEY(n, f) .path = (n), .offset = offsetof(struct init_map, f)
#define REAL      .type = CONF_T_DOUBLE, .nullable = true, .min = -DBL_MAX, .max = DBL_MAX
#define NAME      {.path = "name", .type = CONF_T_ANY}
#define MEAN {KEY("mean", init.mean), REAL, .doc = "default 0"}
#define STD {KEY("std", init.std), REAL, .doc = "standard deviation; default 0.05"}
#define BOUNDS(low, high) \
    {KEY("a", init.a), REAL, .doc = "lower bound, absolute; default " low}, \
    {KEY("b", init.b), REAL, .doc = "upper bound, absolute; default " high}
#define SCALED CONF_KEYS( \
    NAME, \
    {KEY("mode", init.fan), .type = CONF_T_CHOICE, .nullable = true, \
     .choices = CONF_CHOICES({"fan_in", ZOO_FAN_IN}, {"fan_out", ZOO_FAN_OUT}, \
                             {"fan_avg", ZOO_FAN_AVG}), .doc = "what the variance is divided by"}, \
    {KEY("distribution", init.distribution), .type = CONF_T_CHOICE, .nullable = true, \
     .choices = CONF_CHOICES({"truncated_normal", ZOO_INIT_TRUNCATED_NORMAL}, \
                             {"normal", ZOO_INIT_NORMAL}, {"uniform", ZOO_INIT_UNIFORM}), \
     .doc = "of the values"}, \
    {KEY("scale", init.value), REAL, .doc = "variance times what it is divided by"}, \
    {KEY("gain", gain), REAL, .status = CONF_ALSO, .doc = "its square is a factor of the scale"})

/* Rows of the table of names. From VARIANCE_SCALING on they are one kind of initializer with
 * different scale, fan and distribution. */
enum {
    CONSTANT,
    ZEROS,
    ONES,
    NORMAL,
    TRUNCATED_NORMAL,
    UNIFORM,
    EYE,
    VARIANCE_SCALING,
    XAVIER_NORMAL,
    XAVIER_UNIFORM,
    GLOROT_NORMAL,
    GLOROT_UNIFORM,
    LECUN_NORMAL,
    LECUN_UNIFORM,
    KAIMING_NORMAL,
    KAIMING_UNIFORM,
    N_NAMES
};

static const struct conf_variant names[N_NAMES] = {
    [CONSTANT] = {"constant", .doc = "one value", CONF_KEYS(
        NAME, {KEY("val", init.value), REAL, .doc = "the value; default 0"})},
    [ZEROS] = {"zeros", CONF_KEYS(NAME), .doc = "0"},
    [ONES] = {"ones", CONF_KEYS(NAME), .doc = "1"},
    [NORMAL] = {"normal", CONF_KEYS(NAME, MEAN, STD), .doc = "normal distribution"},
    [TRUNCATED_NORMAL] = {"truncated_normal", .doc = "normal distribution between bounds",
                          CONF_KEYS(NAME, MEAN, STD, BOUNDS("-2 std", "2 std"))},
    [UNIFORM] = {"uniform", CONF_KEYS(NAME, BOUNDS("-0.05", "0.05")),
                 .doc = "uniform distribution between bounds"},
    [EYE] = {"eye", CONF_KEYS(NAME), .doc = "the unit matrix"},
    [VARIANCE_SCALING] = {"variance_scaling", SCALED, .doc = "scale 1, fan_in, truncated normal"},
    [XAVIER_NORMAL] = {"xavier_normal", SCALED, .doc = "scale 1, fan_avg, normal"},
    [XAVIER_UNIFORM] = {"xavier_uniform", SCALED, .doc = "scale 1, fan_avg, uniform"},
    [GLOROT_NORMAL] = {"glorot_normal", SCALED, .doc = "scale 1, fan_avg, normal"},
    [GLOROT_UNIFORM] = {"glorot_uniform", SCALED, .doc = "scale 1, fan_avg, uniform"},
    [LECUN_NORMAL] = {"lecun_normal", SCALED, .doc = "scale 1, fan_in, truncated normal"},
    [LECUN_UNIFORM] = {"lecun_uniform", SCALED, .doc = "scale 1, fan_in, uniform"},
    [KAIMING_NORMAL] = {"kaiming_normal", SCALED, .doc = "scale 2, fan_in, normal"},
    [KAIMING_UNIFORM] = {"kaiming_uniform", SCALED, .doc = "scale 2, fan_in, uniform"},
};
/* clang-format on */

/* The initializer that a name alone stands for. */
#define SCALING(v, f, dist)                                                                        \
    {                                                                                              \
        .kind = ZOO_INIT_VARIANCE_SCALING, .value = (v), .fan = (f), .distribution = (dist)        \
    }
static const struct zoo_init start[N_NAMES] = {
    [CONSTANT] = {.kind = ZOO_INIT_CONSTANT},
    [ZEROS] = {.kind = ZOO_INIT_ZEROS},
    [ONES] = {.kind = ZOO_INIT_ONES},
    [NORMAL] = {.kind = ZOO_INIT_NORMAL, .std = 0.05},
    [TRUNCATED_NORMAL] = {.kind = ZOO_INIT_TRUNCATED_NORMAL, .std = 0.05},
    [UNIFORM] = {.kind = ZOO_INIT_UNIFORM},
    [EYE] = {.kind = ZOO_INIT_EYE},
    [VARIANCE_SCALING] = SCALING(1, ZOO_FAN_IN, ZOO_INIT_TRUNCATED_NORMAL),
    [XAVIER_NORMAL] = SCALING(1, ZOO_FAN_AVG, ZOO_INIT_NORMAL),
    [XAVIER_UNIFORM] = SCALING(1, ZOO_FAN_AVG, ZOO_INIT_UNIFORM),
    [GLOROT_NORMAL] = SCALING(1, ZOO_FAN_AVG, ZOO_INIT_NORMAL),
    [GLOROT_UNIFORM] = SCALING(1, ZOO_FAN_AVG, ZOO_INIT_UNIFORM),
    [LECUN_NORMAL] = SCALING(1, ZOO_FAN_IN, ZOO_INIT_TRUNCATED_NORMAL),
    [LECUN_UNIFORM] = SCALING(1, ZOO_FAN_IN, ZOO_INIT_UNIFORM),
    [KAIMING_NORMAL] = SCALING(2, ZOO_FAN_IN, ZOO_INIT_NORMAL),
    [KAIMING_UNIFORM] = SCALING(2, ZOO_FAN_IN, ZOO_INIT_UNIFORM),
};

static const struct conf_variants variants = {.selector = "name", .variant = names, .n = N_NAMES};

const struct conf_variants *zoo_initializers(void)
{
    return &variants;
}

/* Check for parameters without which a distribution is not defined. */
static void check(struct conf_parse *p, const char *path, const struct conf_node *node,
                  const struct zoo_init *init)
{
    bool random = init->kind == ZOO_INIT_NORMAL || init->kind == ZOO_INIT_TRUNCATED_NORMAL;
    bool bounded = init->kind == ZOO_INIT_UNIFORM || init->kind == ZOO_INIT_TRUNCATED_NORMAL;
    if (init->kind == ZOO_INIT_VARIANCE_SCALING && !(init->value > 0))
        conf_diag_error(p->diag, node->pos, path, "scale must be greater than 0, got %.15g",
                        init->value);
    else if (random && !(init->std > 0))
        conf_diag_error(p->diag, node->pos, path, "std must be greater than 0, got %.15g",
                        init->std);
    else if (bounded && !(init->a < init->b))
        conf_diag_error(p->diag, node->pos, path, "a must be less than b, got %.15g and %.15g",
                        init->a, init->b);
}

/* Defaults of the Model Zoo: mean 0, std 0.05, uniform on (-0.05, 0.05), truncated at two
 * standard deviations. */
static void read_map(struct conf_parse *p, const struct conf_key *key, const struct conf_node *map,
                     int name, struct zoo_init *out)
{
    struct init_map m = {.init = start[name], .gain = 1};
    const struct conf_record record = {
        .path = key->path, .map = map, .key = names[name].key, .n = names[name].n, .out = &m};
    m.init.a = m.init.b = NAN;
    if (!conf_record_read(p, &record)) return;
    const double width = m.init.kind == ZOO_INIT_UNIFORM ? 0.05 : 2 * m.init.std;
    if (isnan(m.init.a)) m.init.a = -width;
    if (isnan(m.init.b)) m.init.b = width;
    m.init.value *= m.gain * m.gain;
    check(p, key->path, map, &m.init);
    *out = m.init;
}

/* Read a name alone, or a map with a name and numbers; null keeps the default. */
void zoo_read_initializer(struct conf_parse *p, const struct conf_key *key,
                          const struct conf_node *node, void *field)
{
    if (conf_node_is_null(node)) return;
    const struct conf_node *name =
        node->kind == CONF_NODE_MAP ? conf_node_find(node, "name") : node;
    if (!name) {
        conf_diag_error(p->diag, node->pos, key->path, "name is missing");
        return;
    }
    const int i = conf_variant_read(p, &variants, key->path, name);
    if (i >= 0) read_map(p, key, node, i, field);
}

/* Writes the first name of its kind, so special cases of variance scaling come out as
 * `variance_scaling` with their numbers. */
void zoo_write_initializer(struct wsc_text *out, const void *field, const struct conf_layout *at)
{
    const struct zoo_init *init = field;
    int name = 0;
    (void)at;
    if (init->kind == ZOO_INIT_DEFAULT) {
        wsc_text_add(out, " null");
        return;
    }
    while (start[name].kind != init->kind)
        name++;
    wsc_text_add(out, " ");
    conf_record_write(out, &variants, name, init, NULL);
}
