// SPDX-License-Identifier: Apache-2.0
/* Completion in a real bash: what is offered for words that a user has begun. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdio.h>
#include <string.h>

/* What bash offers for the last of @p words, sorted, separated by blanks. */
static void offered(const char *words, char *text, size_t size)
{
    struct spawn_result r;
    spawn_run(&r,
              "bash -c 'eval \"$(\"$WSC\" help --completion bash)\"; COMP_WORDS=(wsc %s); "
              "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _wsc 2>/dev/null; "
              "printf \"%%s\\n\" \"${COMPREPLY[@]}\"' | LC_ALL=C sort | tr '\\n' ' '",
              words);
    T_EQ(r.status, 0);
    (void)snprintf(text, size, "%s", r.out);
    spawn_free(&r);
}

static void expect(const char *words, const char *expected)
{
    char text[4096];
    offered(words, text, sizeof text);
    T_STR(text, expected);
}

TEST(completion, commands_options_and_choices)
{
    expect("re", "reproduce ");
    expect("data tr", "train-bpe ");
    expect("data train-bpe --voc", "--vocab_size ");
    expect("run --num", "--num_csx --num_steps --numerics ");
    expect("run --numerics \"\"", "host mesh none ");
    expect("run --numerics m", "mesh ");
    expect("run --mode train_", "train_and_eval ");
    expect("scale --scaling s", "strong ");
}

TEST(completion, keys_of_params_and_cluster)
{
    expect("run --set model.hidden_s", "model.hidden_size= ");
    expect("scale --set cluster.wafer.pe_c", "cluster.wafer.pe_cols= ");
    expect("scale --sweep model.hidden_s", " ");
    expect("scale --sweep cluster.wafer.pe_r", "cluster.wafer.pe_rows= ");
}

TEST(completion, files_and_what_is_shipped)
{
    expect("run --params configs/params/tiny_p", "configs/params/tiny_phases.yaml ");
    expect("inspect Mak", "Makefile ");
    expect("convert --out inc", "include ");
    CU_ASSERT(spawn_ok("test \"$(WSC_DATA_DIR=$PWD bash -c 'eval \"$(\"$WSC\" help --completion "
                       "bash)\"; COMP_WORDS=(wsc run --cluster \"$PWD/configs/cluster/cs2_1\"); "
                       "COMP_CWORD=3; cd /; _wsc 2>/dev/null; echo \"${COMPREPLY[*]##*/}\"' | "
                       "tr ' ' '\\n' | sort -u)\" = cs2_192.yaml"));
}

TEST(completion, zsh_takes_the_same)
{
    if (!spawn_ok("command -v zsh >/dev/null || ! echo 'skipped: zsh is not installed' >&2"))
        return;
    const char *path = job_path("completion");
    CU_ASSERT(spawn_ok("\"$WSC\" help --completion zsh >%s && zsh -n %s && "
                       "zsh -fc 'autoload -U compinit && compinit -D -u; source %s; COMP_CWORD=3; "
                       "COMP_WORDS=(wsc run --numerics m); compgen -F _wsc; "
                       "COMP_WORDS=(wsc run --set x); compgen -F _wsc' >%s.said && "
                       "test \"$(head -n 3 %s.said | tr '\\n' ' ')\" = 'none host mesh ' && "
                       "grep -q '^cluster.wafer.pe_cols=$' %s.said",
                       path, path, path, path, path, path));
}
