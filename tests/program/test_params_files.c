// SPDX-License-Identifier: Apache-2.0
/* `wsc params`: the JSON Schemas accept what the program accepts and refuse its golden errors but
 * for those that several keys make together; templates are valid files of the model that they are
 * named after; differences are those of effective values.  The judge of schemas is Python's
 * jsonschema (schema_check.py), an implementation of its own. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK "python3 tests/program/schema_check.py "

/* Both schemas, in the files params.json and cluster.json of the folder that is returned; NULL when
 * there is no judge. */
static const char *make_schemas(void)
{
    const char *dir = job_path("schemas");
    struct spawn_result r;
    CU_ASSERT_TRUE_FATAL(spawn_ok("mkdir -p %s && \"$WSC\" params --schema >%s/params.json && "
                                  "\"$WSC\" params --schema cluster >%s/cluster.json",
                                  dir, dir, dir));
    spawn_run(&r, CHECK "%s/params.json", dir);
    const bool skip = r.status == 3 || r.status == 127;
    if (skip) (void)fprintf(stderr, "skipped: %s", *r.err ? r.err : "no python3\n");
    if (!skip) T_EQ(r.status, 0);
    spawn_free(&r);
    return skip ? NULL : dir;
}

TEST(params, schemas_accept_the_files_that_come_with_the_program)
{
    const char *dir = make_schemas();
    if (!dir) return;
    CU_ASSERT(spawn_ok("test \"$(" CHECK "%s/params.json configs/params/*.yaml)\" = ''", dir));
    CU_ASSERT(spawn_ok("test \"$(" CHECK "%s/cluster.json configs/cluster/*.yaml)\" = ''", dir));
}

/* Files of the Model Zoo, where a folder of them is named: what the program takes, the schema
 * takes. */
TEST(params, the_schema_accepts_model_zoo_files)
{
    const char *zoo = getenv("WSC_MODELZOO");
    const char *dir = zoo ? make_schemas() : NULL;
    if (!zoo) (void)fprintf(stderr, "skipped: WSC_MODELZOO names no folder of params files\n");
    if (!dir) return;
    CU_ASSERT(spawn_ok("find '%s' -name '*.yaml' | sort | while read -r f; do "
                       "\"$WSC\" run --params $f --validate_only >/dev/null 2>&1 && echo $f; "
                       "done >%s/taken; test -s %s/taken && test \"$(" CHECK
                       "%s/params.json $(cat %s/taken))\" = ''",
                       zoo, dir, dir, dir, dir));
}

TEST(params, schemas_refuse_the_errors_that_one_key_makes)
{
    const char *dir = make_schemas();
    if (!dir) return;
    CU_ASSERT(
        spawn_ok("cd tests/golden/errors && check() { python3 ../../program/schema_check.py "
                 "\"$@\"; } && { check %s/params.json $(ls *.yaml | grep -v cluster) && "
                 "check %s/cluster.json *.cluster.yaml; } | cut -d: -f1 | sort >%s/refused && "
                 "ls *.yaml | sort | comm -23 - %s/refused >%s/accepted && "
                 "grep -v '^#' ../schema_unseen.txt | diff - %s/accepted",
                 dir, dir, dir, dir, dir, dir));
}

/* Empty lists, null sections and a null scale, which the program takes for defaults. */
TEST(params, schemas_accept_what_stands_for_defaults)
{
    const char *dir = make_schemas();
    CU_ASSERT(
        spawn_ok("cd %s && root=$OLDPWD && for value in model.freeze=[] model.lora_params=[] "
                 "model.selective_grad=[] optimizer.params=[] "
                 "optimizer.loss_scaling_factor=null; do section=${value%%%%.*}; "
                 "key=${value#*.}; sed \"s/^$section:/&\\n    ${key%%=*}: ${key#*=}/\" "
                 "$root/configs/params/tiny.yaml >$key.yaml && "
                 "\"$WSC\" run --params $key.yaml --validate_only >/dev/null && "
                 "python3 $root/tests/program/schema_check.py params.json $key.yaml || exit 1; "
                 "done",
                 dir));
    CU_ASSERT(spawn_ok("printf 'schema_version: 1\\nbase: %%s/configs/cluster/cs2.yaml"
                       "\\ncontrol: null\\n' $PWD >%s/null.yaml && \"$WSC\" ranks --cluster "
                       "%s/null.yaml --params configs/params/tiny.yaml && " CHECK
                       "%s/cluster.json %s/null.yaml",
                       dir, dir, dir, dir));
}

TEST(params, a_template_is_the_model_that_it_is_named_after)
{
    const char *dir = job_path("templates");
    CU_ASSERT(spawn_ok("mkdir %s && \"$WSC\" params --template list >%s/list && "
                       "test $(wc -l <%s/list) -ge 15 && while read -r family size; do "
                       "\"$WSC\" params --template $family $size >%s/t.yaml && "
                       "test \"$(\"$WSC\" params --diff %s/t.yaml "
                       "configs/params/${family}_$size.yaml)\" = 'no key differs' || exit 1; "
                       "done <%s/list",
                       dir, dir, dir, dir, dir, dir));
    CU_ASSERT(spawn_ok("\"$WSC\" params --template gpt3 1.3B | grep -q '^    hidden_size: 2048  *# "
                       "width' && \"$WSC\" params --template llama 7b | grep -q 'name: llama'"));
    CU_ASSERT(spawn_ok("\"$WSC\" params --template gpt3 111m | grep -q "
                       "'^    # moe:' && ! \"$WSC\" params --template gpt3 17b 2>/dev/null"));
}

/* A key after a `#` has the value that holds without it: taken in, it changes nothing. */
TEST(params, what_a_template_offers_is_the_default)
{
    const char *file = job_path("offer");
    CU_ASSERT(spawn_ok("\"$WSC\" params --template gpt3 111m >%s && "
                       "sed 's/^    # \\(rope_theta\\|use_ffn_bias\\|moe\\|    top_k\\|seed\\|"
                       "amsgrad\\|repeat\\):/    \\1:/' %s >%s.more && "
                       "test $(diff %s %s.more | grep -c '^>') -ge 6 && "
                       "test \"$(\"$WSC\" params --diff %s %s.more)\" = 'no key differs'",
                       file, file, file, file, file, file, file));
}

TEST(params, differences_are_of_effective_values_in_both_styles)
{
    const char *file = job_path("other");
    CU_ASSERT(spawn_ok("sed 's/num_heads: .*/num_heads: 1/; s/1.0e-5/0.00001/' "
                       "configs/params/tiny.yaml >%s && \"$WSC\" params --diff "
                       "configs/params/tiny.yaml %s >%s.said && "
                       "grep -q '^model.num_heads .* 1$' %s.said && "
                       "test $(grep -c '^[a-z_]*\\.' %s.said) = 2",
                       file, file, file, file, file));
    CU_ASSERT(spawn_ok("\"$WSC\" params --diff configs/params/tiny.yaml "
                       "configs/params/tiny_trainer.yaml"));
    /* A schedule is too wide for a column. */
    CU_ASSERT(spawn_ok("\"$WSC\" params --diff configs/params/gpt3_13b.yaml "
                       "configs/params/giga_gpt_70b.yaml >%s.said && "
                       "grep -A2 '^optimizer.learning_rate$' %s.said | "
                       "grep -q '^  configs/params/giga_gpt_70b.yaml: {.*total_iters: 660108' && "
                       "test $(sed '/^$/,$d' %s.said | wc -L) -lt 180",
                       file, file, file));
    CU_ASSERT(spawn_ok("! \"$WSC\" params --diff configs/params/tiny.yaml 2>%s.said && "
                       "grep -q WORD %s.said && ! \"$WSC\" params --schema trees 2>%s.said && "
                       "grep -q 'params or cluster' %s.said && ! \"$WSC\" params 2>/dev/null",
                       file, file, file, file));
}
