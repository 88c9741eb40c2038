// SPDX-License-Identifier: Apache-2.0
#include "report_impl.h"

#include <wsc/log.h>

#include <math.h>
#include <stdio.h>

/* Forms of the Model Zoo's log lines: loss with 5 decimals, rates with 2, below 1 with three
 * significant digits; users' scripts match them. */
static const char *rate_text(char text[static REPORT_REAL_SIZE], double rate)
{
    (void)snprintf(text, REPORT_REAL_SIZE, rate < 1.0 ? "%.3g" : "%.2f", rate);
    return text;
}

void report_rate_update(struct report_rate *r, int64_t samples, int64_t time_ps)
{
    const double smoothing = 0.6; /* share of the newest rate, as in the Model Zoo */
    if (time_ps <= 0) return;
    double now = (double)samples / ((double)time_ps * 1e-12);
    r->rate = r->time_ps ? smoothing * now + (1.0 - smoothing) * r->rate : now;
    r->samples += samples;
    r->time_ps += time_ps;
    r->global_rate = (double)r->samples / ((double)r->time_ps * 1e-12);
}

/* @p loss NULL: there are no values, and no Loss in the line. */
static void log_step(const char *mode, int64_t step, const double *loss, double rate,
                     double global_rate)
{
    char now[REPORT_REAL_SIZE], global[REPORT_REAL_SIZE], loss_text[REPORT_REAL_SIZE + 16] = "";
    if (loss) (void)snprintf(loss_text, sizeof loss_text, "Loss=%.5f, ", *loss);
    WSC_INFO("| %s Device=CSX, Step=%lld, %sRate=%s samples/sec, GlobalRate=%s samples/sec", mode,
             (long long)step, loss_text, rate_text(now, rate), rate_text(global, global_rate));
}

void report_log_train(const struct report_step *s, double rate, double global_rate)
{
    log_step("Train", s->step, s->has_values ? &s->loss : NULL, rate, global_rate);
}

void report_log_eval(int64_t step, double loss, double rate, double global_rate)
{
    log_step("Eval", step, &loss, rate, global_rate);
}

void report_log_eval_end(double loss, double accuracy, double perplexity)
{
    char text[REPORT_REAL_SIZE];
    report_real(text, loss);
    WSC_INFO("Avg Eval Loss: %s", text);
    report_real(text, accuracy);
    WSC_INFO("Metric: eval/accuracy = %s", text);
    report_real(text, perplexity);
    WSC_INFO("Metric: eval/lm_perplexity = %s", text);
}
