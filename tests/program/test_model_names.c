// SPDX-License-Identifier: Apache-2.0
/* Names of models by their params files: `wsc scale` and `wsc law --predict` have the same ones,
 * with dots, long, and with a folder where base names are equal. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <string.h>

#define X30       "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define LONG_NAME "gpt3_1.3b_" X30 X30 X30
#define LONG_RUN  "run_" X30 X30 "_lr3.0e-4_wd0.1"
#define LAW       "law --points benchmarks/reference/laws/cerebras_gpt.csv --predict"

/* Copies of tiny.yaml, the list of them, and the names that their models have. */
static const char *files(void)
{
    const char *dir = job_path("models");
    CU_ASSERT_FATAL(spawn_ok(
        "mkdir -p %s && cd %s && mkdir r1 r2 && printf '%%s\n' gpt3_1.3b gpt3_1.5b "
        "r1/params r2/params " LONG_NAME " " LONG_RUN " >names && "
        "while read -r name; do cp $OLDPWD/configs/params/tiny.yaml $name.yaml; done <names && "
        "sed \"s|.*|$PWD/&.yaml|\" names | paste -sd, >list",
        dir, dir));
    return dir;
}

TEST(model_names, scale_and_law_have_the_same)
{
    const char *dir = files();
    CU_ASSERT(spawn_ok("cd %s && printf 'model,num_csx,tokens_per_s,source\n" LONG_NAME
                       ",1,1e6,own\n' >points.csv",
                       dir));
    struct spawn_result r;
    spawn_run(&r,
              "\"$WSC\" scale --params $(cat %s/list) --num_csx 1 --points %s/points.csv "
              "--out %s/scale",
              dir, dir, dir);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NULL(strstr(r.err, "is left out"));
    spawn_free(&r);
    CU_ASSERT(
        spawn_ok("tail -n +2 %s/scale/scaling.csv | cut -d, -f1 | diff %s/names -", dir, dir));
    CU_ASSERT(spawn_ok("\"$WSC\" " LAW " $(cat %s/list) --out %s/law 2>/dev/null", dir, dir));
    CU_ASSERT(
        spawn_ok("tail -n +2 %s/law/predictions.csv | cut -d, -f1 | diff %s/names -", dir, dir));
}

/* A name that is too long, and two files whose models would have one name. */
TEST(model_names, names_that_do_not_fit_are_refused)
{
    static const char *const command[] = {"scale --num_csx 1 --params", LAW};
    const char *dir = job_path("refused");
    CU_ASSERT_FATAL(spawn_ok("mkdir -p %s && for f in a.yaml a.yml " LONG_NAME X30 ".yaml; do "
                             "cp configs/params/tiny.yaml %s/$f; done",
                             dir, dir));
    for (int i = 0; i < 2; i++) {
        struct spawn_result r;
        spawn_run(&r, "\"$WSC\" %s %s/" LONG_NAME X30 ".yaml --out %s/out", command[i], dir, dir);
        T_EQ(r.status, 2);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.err, X30 ", is longer than 127 bytes; hint: "));
        spawn_free(&r);
        spawn_run(&r, "\"$WSC\" %s %s/a.yaml,%s/a.yml --out %s/out", command[i], dir, dir, dir);
        T_EQ(r.status, 2);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "/a.yml: their models would have one name; hint: "));
        spawn_free(&r);
    }
}
