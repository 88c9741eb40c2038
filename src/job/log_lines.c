// SPDX-License-Identifier: Apache-2.0
/* Log lines in the format of the Model Zoo's trainer, and its smoothed rates: 0.6 of the newest
 * batch, 0.4 of the value before.  Rates and remaining times are of the emulated machine, not of
 * this host.  Called by job_log.c. */
#include "log_lines.h"

#include <wsc/out.h>

#include <wsc/log.h>
#include <wsc/units.h>

#include <math.h>
#include <stdio.h>

/* Forms of the Model Zoo's log lines: loss with 5 decimals, rates with 2, below 1 with three
 * significant digits; users' scripts match them. */
static const char *rate_text(char text[static OUT_REAL_SIZE], double rate)
{
    (void)snprintf(text, OUT_REAL_SIZE, rate < 1.0 ? "%.3g" : "%.2f", rate);
    return text;
}

void job_rate_update(struct job_rate *r, int64_t samples, int64_t time_ps)
{
    const double smoothing = 0.6; /* share of the newest rate, as in the Model Zoo */
    if (time_ps <= 0) return;
    double now = (double)samples / wsc_seconds((double)time_ps);
    r->rate = r->time_ps ? smoothing * now + (1.0 - smoothing) * r->rate : now;
    r->samples += samples;
    r->time_ps += time_ps;
    r->global_rate = (double)r->samples / wsc_seconds((double)r->time_ps);
}

struct job_pace job_pace_of(const struct job_rate *r, int64_t batch_size, int64_t loop,
                            int64_t total, bool more)
{
    const double step_s = r->time_ps > 0 ? (double)batch_size / r->global_rate : NAN;
    return (struct job_pace){r->rate, r->global_rate, step_s * (double)loop, step_s * (double)total,
                             more};
}

/* `, Name=h:mm:ss`, or nothing when it is not known. */
static void add_time(char text[static OUT_REAL_SIZE + 32], const char *name, char sign, double s)
{
    const long long most = 1000LL * 365 * 24 * 3600; /* a thousand years: no estimate any more */
    text[0] = '\0';
    if (!(s >= 0 && s < (double)most)) return;
    const long long whole = (long long)s;
    (void)snprintf(text, OUT_REAL_SIZE + 32, ", %s%c%lld:%02lld:%02lld", name, sign, whole / 3600,
                   whole / 60 % 60, whole % 60);
}

void job_print_train(const struct job_logged_step *s, const struct job_pace *p)
{
    char now[OUT_REAL_SIZE], global[OUT_REAL_SIZE], loss[OUT_REAL_SIZE + 16] = "";
    char loop[OUT_REAL_SIZE + 32], total[OUT_REAL_SIZE + 32];
    if (s->has_values) (void)snprintf(loss, sizeof loss, "Loss=%.5f, ", s->loss);
    add_time(loop, "LoopTimeRemaining", '=', p->loop_s);
    add_time(total, "TimeRemaining", p->more ? '>' : '=', p->total_s);
    WSC_INFO("| Train Device=CSX, Step=%lld, %sRate=%s samples/sec, GlobalRate=%s samples/sec%s%s",
             (long long)s->step, loss, rate_text(now, p->rate), rate_text(global, p->global_rate),
             loop, total);
}

void job_print_noise(const struct job_logged_step *s)
{
    if (!s->has_noise) return;
    if (isnan(s->noise_scale))
        WSC_INFO("| Step=%lld, GradientNoiseScale: not known yet", (long long)s->step);
    else
        WSC_INFO("| Step=%lld, GradientNoiseScale=%.6g samples", (long long)s->step,
                 s->noise_scale);
}

void job_print_rewards(const struct job_logged_step *s)
{
    char text[OUT_REAL_SIZE];
    struct wsc_text line = {0};
    for (int i = 0; i < s->n_rewards; i++) {
        out_real(text, s->reward[i].value);
        wsc_text_add(&line, ", %s=%s", s->reward[i].name, text);
    }
    if (line.n) WSC_INFO("| Step=%lld%s", (long long)s->step, line.bytes);
    wsc_text_free(&line);
}

void job_print_eval(int64_t step, int64_t batch, double loss, const struct job_rate *r)
{
    char now[OUT_REAL_SIZE], global[OUT_REAL_SIZE];
    WSC_INFO("| Eval Device=CSX, GlobalStep=%lld, Batch=%lld, Loss=%.5f, Rate=%s samples/sec, "
             "GlobalRate=%s samples/sec",
             (long long)step, (long long)batch, loss, rate_text(now, r->rate),
             rate_text(global, r->global_rate));
}

/* Values in full here, not as in the lines: scripts take results of a training from these. */
void job_print_eval_end(const struct job_evaluation *e)
{
    char text[OUT_REAL_SIZE];
    out_real(text, e->loss);
    WSC_INFO("Avg Eval Loss: %s", text);
    WSC_INFO("Evaluation metrics:");
    for (int i = 0; i < e->n_scores; i++) {
        out_real(text, e->score[i].value);
        WSC_INFO("  - %s = %s", e->score[i].name, text);
    }
}
