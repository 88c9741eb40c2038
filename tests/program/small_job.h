/** What the program's tests share: data, the tiny job, its metrics.jsonl. */
#ifndef WSC_TEST_JOB_H
#define WSC_TEST_JOB_H
#include <stdbool.h>

enum { JOB_MAX_STEPS = 1024 };

/** The lines of a metrics.jsonl; numbers as their text, so that equal means equal in every bit. */
struct job_step {
    long long step, virtual_time_ps, step_time_ps;
    char loss[40], lr[40], grad_norm[40], loss_scale[40], hash[40];
};
struct job_metrics {
    int n;
    struct job_step step[JOB_MAX_STEPS];
};

/** A dataset of bytes, sequences of 64, made once by the program; has train/ and val/. */
const char *job_data(void);
/** A dataset of pairs, texts of 64, made once by the program of DIR.jsonl: requests, each with a
 *  polite and a rude answer. Has train/ and val/. */
const char *job_pairs(void);
/** A fresh path below the test's folder; borrowed until the eighth call after. */
const char *job_path(const char *name);
/** `$WSC run` of configs/params/tiny.yaml on that dataset, with hashes in the metrics; borrowed. */
const char *job_tiny(void);
/** Read DIR/metrics.jsonl. */
bool job_read(const char *dir, struct job_metrics *m);
/** Same losses, norms, rates and hashes at the same steps; prints the first difference. */
bool job_same_values(const struct job_metrics *a, const struct job_metrics *b);
bool job_same_times(const struct job_metrics *a, const struct job_metrics *b);
/** The n-th number named @p key, from 0, in DIR/performance.json; -1 when it is not there. */
long long job_performance(const char *dir, const char *key, int n);
#endif
