// SPDX-License-Identifier: Apache-2.0
/* Exhibits as YAML: what is read, what is refused and how that is said, which may be chosen. */
#include "../../support/test.h"
#include "../report/report_case.h"

#include <wsc/validation_exhibits.h>

#include <string.h>

#define RATIOS "exhibits:\n  - {id: a, picture: ratios, title: A, rows: usc_* }\n"
#define BATCHES                                                                                    \
    "  - {id: b, picture: batches, title: B, models: m1 m2, cluster: cs2, batch: [1, 8]}\n"
#define SYSTEMS                                                                                    \
    "  - {id: c, picture: systems, title: C, models: m1, cluster: cs3, num_csx: [1, 4, 64],\n"     \
    "     batch_per_csx: 3, measured_to: 16, msl: 2048, set: model.x=1, note: why}\n"

#define X20 "xxxxxxxxxxxxxxxxxxxx"
#define X64 X20 X20 X20 "xxxx"
#define M16 "m m m m m m m m m m m m m m m m "
#define CURVE(cluster)                                                                             \
    "exhibits:\n  - {id: b, picture: batches, title: B, models: m, cluster: " cluster              \
    ", batch: [1]}\n"

static enum wsc_err read_text(const char *text, struct validation_exhibits *e)
{
    case_write(case_path("exhibits.yaml"), text);
    return validation_exhibits_read(case_path("exhibits.yaml"), e);
}

TEST(exhibits, are_read_as_written)
{
    struct validation_exhibits e;
    T_OK(read_text(RATIOS BATCHES SYSTEMS, &e));
    CU_ASSERT_EQUAL_FATAL(e.n, 3);
    T_EQ(e.item[0].picture, VALIDATION_RATIOS);
    T_STR(e.item[0].rows, "usc_*");
    T_EQ(e.item[1].picture, VALIDATION_BATCHES);
    T_STR(e.item[1].models, "m1 m2");
    CU_ASSERT_PTR_NULL(e.item[1].rows);
    T_EQ(e.item[1].batch.n, 2);
    T_EQ(e.item[1].batch.item[1], 8);
    T_EQ(e.item[2].picture, VALIDATION_SYSTEMS);
    T_EQ(e.item[2].num_csx.n, 3);
    T_EQ(e.item[2].num_csx.item[2], 64);
    T_EQ(e.item[2].batch_per_csx, 3);
    T_EQ(e.item[2].measured_to, 16);
    T_EQ(e.item[2].msl, 2048);
    T_STR(e.item[2].set, "model.x=1");
    T_STR(e.item[2].note, "why");
    validation_exhibits_fini(&e);
}

TEST(exhibits, errors_name_the_place)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"exhibits: 3\n", "exhibits.yaml:1:11: exhibits: expected a list"},
        {"exhibits:\n  - {id: a, title: A}\n", "picture: required key is missing"},
        {"exhibits:\n  - {id: a, picture: pies, title: A}\n", "ratios"},
        {"exhibits:\n  - {id: a, picture: ratios, title: A, rows: x, batch: [1]}\n", ":2:"},
        {"exhibits:\n  - {picture: ratios, title: A, rows: x}\n", "id: required key is missing"},
        {RATIOS "  - {id: b, picture: batches, title: B, models: m, cluster: c, batch: [8, 1]}\n",
         "exhibits.yaml:3:"},
        {RATIOS "  - {id: b, picture: batches, title: B, models: m, cluster: c, batch: []}\n",
         ": exhibits[1].batch: expected a list of 1 to 16 numbers"},
        {RATIOS "  - {id: a, picture: ratios, title: A, rows: usc_* }\n",
         "a second exhibit with the id a"},
        {"exhibits:\n  - {id: ../a, picture: ratios, title: A, rows: usc_* }\n",
         "exhibits.yaml:2:10: id: names files: expected letters, digits, _ and -, got \"../a\""},
        {"exhibits:\n  - {id: " X20 X20 X20 ", picture: ratios, title: A, rows: usc_* }\n",
         "exhibits.yaml:2:10: id: \"" X20 "...\" is longer than 59 bytes"},
        {CURVE("cs2, set: " X64 X64), "exhibits.yaml:2:71: set: longer than 127 bytes"},
        {CURVE(X64), "cluster: \"" X20 "...\" is longer than 31 bytes"},
        {"exhibits:\n  - {id: b, picture: batches, title: B, cluster: c, models: m " X64
         ", batch: [1]}\n",
         "models: \"" X20 "...\" is longer than 47 bytes"},
        {"exhibits:\n  - {id: b, picture: batches, title: B, cluster: c, models: m " M16 M16 M16 M16
         ", batch: [1]}\n",
         "models: 65 models, an exhibit has at most 64"},
        {"other: 1\n" RATIOS, "other"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct validation_exhibits e;
        T_EQ(read_text(wrong[i].text, &e), WSC_CONFIG);
        if (!strstr(wsc_err_message(), wrong[i].says)) (void)printf("got: %s\n", wsc_err_message());
        CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), wrong[i].says));
        validation_exhibits_fini(&e);
    }
}

TEST(exhibits, some_can_be_chosen)
{
    static const char *const some[] = {"c", "a"}, *const other[] = {"a", "b"}, *const two = "a,c";
    struct validation_exhibits e;
    T_OK(read_text(RATIOS BATCHES SYSTEMS, &e));
    T_OK(validation_exhibits_keep(&e, some, 2));
    CU_ASSERT_EQUAL_FATAL(e.n, 2);
    T_STR(e.item[0].id, "a");
    T_STR(e.item[1].id, "c");
    T_EQ(validation_exhibits_keep(&e, other, 2), WSC_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "\"b\": no exhibit of that name"));
    CU_ASSERT_PTR_NOT_NULL(strstr(wsc_err_message(), "one of a, c"));
    T_EQ(validation_exhibits_keep(&e, &two, 1), WSC_USAGE);
    T_EQ(e.n, 2);
    validation_exhibits_fini(&e);
}
