/** What the tests of faults share: the run that is disturbed, and what it has to be equal to. */
#ifndef WSC_TEST_FAULT_H
#define WSC_TEST_FAULT_H
#include "side.h"
#include "small_job.h"
#include "spawn.h"

#include <stdint.h>

/** Two shards, one SwarmX node, two wafers: five roles, each on a rank of its own number. */
enum { FAULT_ROLES = 5, FAULT_STEPS = 60 };
#define FAULT_SYSTEMS                                                                              \
    "--num_csx 2 --set cluster.memoryx.shards=2 --set runconfig.checkpoint_steps=5 "               \
    "--set runconfig.max_checkpoints=3"
#define FAULT_RUN FAULT_SYSTEMS " --max_steps 60"
/** Two seconds of patience instead of a minute. */
#define FAULT_PATIENT_S 2
#define FAULT_PATIENT   "WSC_HEARTBEAT_SECONDS=2 "

/** $WSC_FAULTS: how many times everything is done; 1 without. */
int fault_times(void);
/** $WSC_FAULTS_SEED: of what is drawn; 7 without. */
uint64_t fault_seed(void);
/** The i-th number of [0, n) in the sequence @p what. */
int fault_draw(uint64_t what, int i, int n);
void fault_sleep_ms(int ms);
bool fault_has_file(const char *dir, const char *name);
/** A checkpoint of step @p step or a later one is there; old ones go, and a busy host may look away
 *  for as long as several live. */
bool fault_has_checkpoint(const char *dir, int step);
/** The command that starts the run by the launch script; borrowed until the next call. */
const char *fault_launched(const char *dir, int n_ranks, int restarts, const char *options);
/** What a run to which nothing happened wrote; made once. */
const struct job_metrics *fault_undisturbed(void);
/** Wait for the end: values, virtual times and the last checkpoint must be those of the undisturbed
 *  run.  A job gets what is wrong in @p r, with @p out what the run printed (owned by the
 *  caller). */
void fault_outcome(struct spawn *s, const char *dir, int limit_s, struct side_result *r,
                   struct spawn_result *out);
/** The same, asserted; removes @p dir. */
void fault_check_outcome(struct spawn *s, const char *dir);
/** Invert the lowest bit of byte @p at of the values of @p dataset in checkpoint @p name of @p dir:
 *  a dataset that is as long as before, of other values. */
void fault_invert_bit(const char *dir, const char *name, const char *dataset, long at);
#endif
