// SPDX-License-Identifier: Apache-2.0
/* Every code of WSC_ERR_MAP, brought about by a user's doing or by a fault, with its exit status.
 */
#include "../support/test.h"
#include "fault.h"

#include <wsc/err.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A shell command that ends with the code and says @p said; $TMP is an empty folder, $RUN a run of
 * the tiny job on two systems, $RANKS mpirun with three ranks. */
struct raised {
    const char *command, *said;
};

#define REFERENCE_HEAD                                                                             \
    "id,quantity,unit,value,samples,model,num_csx,global_batch,other_batches,micro_batch,msl,"     \
    "cluster,set,kind,site,family,release,date,tolerance,reason,conditions,source"

static const struct raised raised[] = {
    [WSC_NOMEM] = {"ulimit -v 1000000; $RUN --set model.hidden_size=4096 "
                   "--set model.filter_size=16384",
                   "the host has no more memory"},
    [WSC_CONFIG] = {"$RUN --set model.hidden_size=-1", "model.hidden_size"},
    [WSC_USAGE] = {"\"$WSC\" ranks", "--num_csx"},
    [WSC_IO] = {"touch $TMP/file && $RUN --set runconfig.model_dir=$TMP/file/m", "is not a folder"},
    [WSC_FORMAT] = {"echo text >$TMP/a.mdl && $RUN --checkpoint_path $TMP/a.mdl",
                    "is not an HDF5 file"},
    [WSC_MPI] = {"WSC_INJECT=long:1:50 $RANKS $RUN", "MPI_ERR_TRUNCATE"},
    [WSC_DEADLOCK] = {"WSC_INJECT=mute:0:40 $RUN", "no role can move any more: "},
    [WSC_CAPACITY] = {"$RUN --set cluster.memoryx.capacity=1MB", "the cluster has 1.00 MB"},
    [WSC_NUMERIC] = {"$RUN --set optimizer.learning_rate=1e30", "NaN loss detected"},
    [WSC_INTERRUPTED] = {"$RUN --max_steps 1000000 & until [ -s $TMP/m/metrics.jsonl ]; do "
                         "sleep 0.1; done; kill $!; wait $!",
                         "stopped by "},
    [WSC_TOLERANCE] = {"printf '%s\\n' " REFERENCE_HEAD " 'a,efficiency,1,1,,gpt3_111m,2,240,,auto,"
                       "2048,andromeda,,validation,site,family,,,1..2,none,none,none' >$TMP/a.csv; "
                       "\"$WSC\" validate --out $TMP/out --reference $TMP",
                       "1 of 1 predictions leave their tolerance"},
};

static const char *name_of(int code)
{
    static const char *const name[] = {
#define XX(name, status, text) #name,
        WSC_ERR_MAP(XX)
#undef XX
    };
    return name[code];
}

static void check_code(int code)
{
    const struct raised *c = &raised[code];
    struct spawn_result r;
    char first[128];
    const char *tmp = job_path("code");
    CU_ASSERT_PTR_NOT_NULL_FATAL(c->command);
    (void)setenv("TMP", tmp, 1);
    (void)snprintf(first, sizeof first, "%s: ", wsc_err_str((enum wsc_err)code));
    spawn_run(&r, "mkdir $TMP; RUN=\"$WSC%s --num_csx 2 --model_dir $TMP/m\"; %s",
              strstr(job_tiny(), " run "), c->command);
    const bool good = r.status == wsc_err_exit_status((enum wsc_err)code) && r.n_left == 0 &&
                      strstr(r.err, first) && strstr(r.err, c->said);
    if (!good) (void)fprintf(stderr, "%s: exit status %d: %s\n", name_of(code), r.status, r.err);
    CU_ASSERT(good);
    spawn_free(&r);
    (void)spawn_ok("rm -rf %s", tmp);
}

/* A new code needs a row above: one that nothing raises should not be there. */
TEST(errors, every_code_is_raised)
{
    enum { N_CODES = sizeof raised / sizeof *raised };
    static const enum wsc_err all[] = {
#define XX(name, status, text) WSC_##name,
        WSC_ERR_MAP(XX)
#undef XX
    };
    T_EQ(sizeof all / sizeof *all, N_CODES);
    (void)setenv("WSC_TRACE", "1", 1);
    (void)setenv("RANKS", "mpirun --quiet -n 3", 1);
    for (int code = WSC_OK + 1; code < N_CODES; code++)
        check_code(code);
    (void)unsetenv("WSC_TRACE");
}
