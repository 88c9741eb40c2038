// SPDX-License-Identifier: Apache-2.0
/* Adding a key is adding a row: a table with one dummy row, and one with a record of two kinds, are
 * parsed, range-checked, defaulted, written and documented without any other code. */
#include "../../support/test.h"

#include <wsc/conf.h>
#include <wsc/mem.h>

#include <stdio.h>
#include <string.h>

struct dummy {
    int64_t depth;
};

static const struct conf_key rows[] = {{.path = "tank.depth",
                                        .offset = offsetof(struct dummy, depth),
                                        .type = CONF_T_QUANTITY,
                                        .unit = WSC_UNIT_BYTES,
                                        .fallback = "4 KiB",
                                        .min = 1024,
                                        .max = 8192,
                                        .doc = "of the tank"}};
static const struct conf_table table = {.key = rows, .n = 1};

/* Parse @p text by @p of; the error's text, or "" without one, goes to @p message. */
static void parse_with(const struct conf_table *of, const char *text, void *out, char message[512])
{
    struct conf_doc doc = {0};
    struct conf_diag d = {.file = "t.yaml"};
    struct conf_rows memory = {0};
    struct conf_parse p = {
        .table = of, .diag = &d, .out = out, .seen = memory.seen, .given = memory.given};
    message[0] = '\0';
    if (conf_doc_parse(&doc, &d, text, strlen(text), CONF_DUPLICATE_IS_ERROR)) {
        conf_keys_read(&p, doc.root, conf_key_read);
        conf_keys_defaults(&p, doc.root);
    }
    if (conf_diag_finish(&d)) (void)snprintf(message, 512, "%s", wsc_err_message());
    conf_doc_fini(&doc);
}

static void check_one(const char *text, int64_t depth, const char *expected)
{
    struct dummy out = {0};
    char message[512];
    parse_with(&table, text, &out, message);
    T_STR(message, expected);
    if (!*expected) T_EQ(out.depth, depth);
}

TEST(conf_table, a_row_is_parsed_checked_and_defaulted)
{
    check_one("tank: {depth: 2 KiB}\n", 2048, "");
    check_one("tank: {}\n", 4096, "");
    check_one("tank: {depth: 9 KiB}\n", 0,
              "t.yaml:1:15: tank.depth: must be at most 8 KiB, got \"9 KiB\"");
    check_one("tank: {dept: 2 KiB}\n", 0,
              "t.yaml:1:8: tank.dept: unknown key; hint: did you mean tank.depth?");
}

static void check_text(struct wsc_text *t, const char *expected)
{
    char *text = NULL;
    T_OK(wsc_text_take(t, &text));
    T_STR(text, expected);
    wsc_free(text);
}

TEST(conf_table, a_row_is_documented)
{
    struct wsc_text t = {0};
    conf_table_markdown(&t, &table, NULL, NULL);
    check_text(&t,
               "| key | value | unit | default | range | status | meaning |\n"
               "|---|---|---|---|---|---|---|\n"
               "| `tank.depth` | quantity | bytes | 4 KiB | 1 KiB to 8 KiB | used | of the tank "
               "|\n");
}

TEST(conf_table, a_row_is_written)
{
    const struct dummy two = {2048};
    struct wsc_text t = {0};
    conf_table_write(&t, &table, &two, NULL);
    check_text(&t, "tank:\n    depth: 2 KiB\n");
}

/* ---- a record of two kinds ------------------------------------------------------------------- */

struct fish {
    int64_t length, n_teeth;
    bool sings;
};

/* clang-format off */
static const struct conf_variant kinds[] = {
    {"pike", .doc = "bites", CONF_KEYS(
        {.path = "kind", .type = CONF_T_ANY},
        {.path = "length", .offset = offsetof(struct fish, length), .type = CONF_T_INT, .min = 1,
         .max = 100, .required = true, .also = "size", .old = "len", .doc = "in cm"},
        {.path = "n_teeth", .offset = offsetof(struct fish, n_teeth), .type = CONF_T_INT,
         .max = 700, .nullable = true, .fallback = "700", .doc = "teeth"})},
    {"whale", .doc = "sings", CONF_KEYS(
        {.path = "kind", .type = CONF_T_ANY},
        {.path = "sings", .offset = offsetof(struct fish, sings), .type = CONF_T_BOOL,
         .fallback = "true", .doc = "does it"})}};
/* clang-format on */
static const struct conf_variants fishes = {
    .selector = "kind", .variant = kinds, .n = 2, .suffixes = "Fish"};

static void read_fish(struct conf_parse *p, const struct conf_key *key,
                      const struct conf_node *node, void *out)
{
    const int i = conf_variant_read(p, &fishes, key->path, conf_node_find(node, "kind"));
    const struct conf_record record = {
        .path = key->path, .map = node, .key = kinds[i < 0 ? 0 : i].key, .out = out};
    struct conf_record sized = record;
    sized.n = kinds[i < 0 ? 0 : i].n;
    if (i >= 0) (void)conf_record_read(p, &sized);
}

static void check_fish(const char *text, const struct fish *expected, const char *error)
{
    static const struct conf_key key = {.path = "fish", .type = CONF_T_SPECIAL, .read = read_fish};
    static const struct conf_table tank = {.key = &key, .n = 1};
    struct fish out = {0};
    char message[512];
    parse_with(&tank, text, &out, message);
    T_STR(message, error);
    if (!expected) return;
    T_EQ(out.length, expected->length);
    T_EQ(out.n_teeth, expected->n_teeth);
    T_EQ(out.sings, expected->sings);
}

TEST(conf_table, a_variant_has_keys_of_its_own)
{
    check_fish("fish: {kind: pike, length: 3}\n", &(struct fish){3, 700, false}, "");
    check_fish("fish: {kind: PikeFish, size: 3, n_teeth: 5}\n", &(struct fish){3, 5, false}, "");
    check_fish("fish: {kind: pike, len: 3, n_teeth: null}\n", &(struct fish){3, 700, false}, "");
    check_fish("fish: {kind: pike, len: 3, size: 4, length: 5}\n", &(struct fish){5, 700, false},
               "");
    check_fish("fish: {kind: whale}\n", &(struct fish){0, 0, true}, "");
    check_fish("fish: {kind: whale, length: 3}\n", NULL,
               "t.yaml:1:21: fish.length: unknown key; hint: known are: kind, sings");
    check_fish("fish: {kind: pike, size: 101}\n", NULL,
               "t.yaml:1:26: fish.size: must be at most 100, got \"101\"");
    check_fish("fish: {kind: pike, n_teth: 1}\n", NULL,
               "t.yaml:1:20: fish.n_teth: unknown key; hint: did you mean n_teeth?");
    check_fish("fish: {kind: pike, colour: 1}\n", NULL,
               "t.yaml:1:20: fish.colour: unknown key; hint: known are: kind, length, n_teeth");
    check_fish("fish: {kind: pike}\n", NULL, "t.yaml:1:7: fish.length: required key is missing");
    check_fish("fish: {kind: cod}\n", NULL,
               "t.yaml:1:14: fish: \"cod\" is not supported by this release; supported: pike, "
               "whale");
}

TEST(conf_table, a_variant_is_written_and_documented)
{
    const struct fish pike = {3, 700, false}, nameless = {CONF_NULL, 1, false};
    struct wsc_text t = {0};
    conf_record_write(&t, &fishes, 0, &pike, NULL);
    check_text(&t, "{kind: pike, length: 3, n_teeth: 700}");
    t = (struct wsc_text){0};
    conf_record_write(&t, &fishes, 0, &nameless, NULL);
    check_text(&t, "{kind: pike, n_teeth: 1}");
    t = (struct wsc_text){0};
    conf_variants_markdown(&t, &fishes);
    check_text(&t,
               "| `kind` | key | value | unit | default | range | status | meaning |\n"
               "|---|---|---|---|---|---|---|---|\n"
               "| **`pike`** | | | | | | | bites |\n"
               "| | `length`, `size`, `len` | whole number |  | required | 1 to 100 | used | in "
               "cm |\n"
               "| | `n_teeth` | whole number |  | 700 | 0 to 700 | used | teeth |\n"
               "| **`whale`** | | | | | | | sings |\n"
               "| | `sings` | boolean |  | true |  | used | does it |\n");
}
