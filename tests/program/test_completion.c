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
              "bash -c 'eval \"$(\"$WSC\" help --completion bash)\"; COMP_WORDS=(\"$WSC\" %s); "
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
    expect("data tr", "train-bpe train-wordpiece ");
    expect("data train-bpe --voc", "--vocab_size ");
    expect("run --num", "--num_beams --num_csx --num_epochs --num_steps --numerics ");
    expect("run --numerics \"\"", "host mesh none ");
    expect("run --numerics m", "mesh ");
    expect("run --mode train_", "train_and_eval ");
    expect("scale --scaling s", "strong ");
    expect("params --schema cl", "cluster ");
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
    expect("reproduce gpt_epoch", "gpt_epoch_hours ");
    expect("reproduce --only machines,bert_cl", "machines,bert_classification ");
    expect("calibrate --fit wafer.s", "wafer.simd_fmachs wafer.stage_latency ");
    CU_ASSERT(spawn_ok("bash -c 'eval \"$(\"$WSC\" help --completion bash)\"; cd /; "
                       "COMP_WORDS=(\"$WSC\" scale --params \"\"); COMP_CWORD=3; _wsc 2>/dev/null; "
                       "printf \"%%s\\n\" \"${COMPREPLY[@]}\"' | "
                       "grep -q '/configs/params/gpt3_111m.yaml$'"));
    expect("convert --out inc", "include ");
    CU_ASSERT(spawn_ok("test \"$(WSC_DATA_DIR=$PWD bash -c 'eval \"$(\"$WSC\" help --completion "
                       "bash)\"; COMP_WORDS=(wsc run --cluster \"$PWD/configs/cluster/cs2_1\"); "
                       "COMP_CWORD=3; cd /; _wsc 2>/dev/null; echo \"${COMPREPLY[*]##*/}\"' | "
                       "tr ' ' '\\n' | sort -u)\" = cs2_192.yaml"));
}

TEST(completion, lists_records_kernels_and_models)
{
    expect("scale --params configs/params/tiny.yaml,configs/params/tiny_p",
           "configs/params/tiny.yaml,configs/params/tiny_phases.yaml ");
    expect("calibrate --fit wafer.stage_latency,wafer.arr",
           "wafer.stage_latency,wafer.arrival_cycles ");
    expect("run --fault lost_w", "lost_wafer: ");
    /* bash cuts the word at : and =, and replaces what comes after them. */
    expect("run --fault straggler : fac", "factor= ");
    expect("run --fault straggler : wafer = 3,fac", "3,factor= ");
    expect("mesh allr", "allreduce ");
    expect("mesh surv", "survey ");
    expect("params --template gpt", "gpt2 gpt3 gptj ");
    expect("params --template gpt3 1", "111m 13b 175b 1p3b 1t ");
    expect("help sca", "scale ");
    expect("help --man wsc-sc", "wsc-scale.1 ");
}

TEST(completion, names_with_blanks)
{
    const char *dir = job_path("with blanks");
    char words[256], expected[256];
    CU_ASSERT_TRUE_FATAL(spawn_ok("mkdir -p '%s' && touch '%s/my $file.yaml'", dir, dir));
    (void)snprintf(words, sizeof words, "inspect \"%s/my\"", dir);
    (void)snprintf(expected, sizeof expected, "%s/my $file.yaml ", dir);
    expect(words, expected);
}

TEST(completion, zsh_takes_the_same)
{
    if (!spawn_has("zsh")) return;
    const char *path = job_path("completion");
    CU_ASSERT(
        spawn_ok("\"$WSC\" help --completion zsh >%s && zsh -n %s && "
                 "zsh -fc 'autoload -U compinit && compinit -D -u; source %s; COMP_CWORD=3; "
                 "COMP_WORDS=(wsc run --numerics m); compgen -F _wsc; "
                 "COMP_WORDS=(wsc run --set cluster.wafer.pe_c); compgen -F _wsc' >%s.said && "
                 "test \"$(tr '\\n' ' ' <%s.said)\" = 'mesh cluster.wafer.pe_cols= '",
                 path, path, path, path, path));
}
