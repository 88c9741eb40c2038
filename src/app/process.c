// SPDX-License-Identifier: Apache-2.0
/* State of the process: its command line, for provenance, and whether its error is reported
 * already, here or by another rank (app_set_reported()), so that one error gives one line on any
 * number of ranks. */
#include "process.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The command line as one text, for provenance. */
static char command_line[4096];
static bool agreed; /* app_agree() has chosen the rank that reports */
static bool reported;

const char *app_command_line(void)
{
    return command_line;
}

void app_set_reported(void)
{
    reported = true;
}

bool app_leads(const struct comm *comm)
{
    return !comm || comm_rank(comm) == 0;
}

enum wsc_err app_agree(struct comm *comm, enum wsc_err rc)
{
    bool reports;
    if (!comm) return rc;
    rc = comm_agree(comm, rc, &reports);
    if (rc && !reports) app_set_reported();
    agreed = rc != WSC_OK;
    return rc;
}

enum wsc_err app_reported_once(struct comm *comm, enum wsc_err rc)
{
    if (rc && comm && comm_rank(comm) && !agreed) app_set_reported();
    return rc;
}

void app_set_command_line(int argc, char **argv)
{
    size_t used = 0;
    for (int i = 0; i < argc && used < sizeof command_line; i++) {
        int n = snprintf(command_line + used, sizeof command_line - used, "%s%s", i ? " " : "",
                         i ? argv[i] : "wsc");
        if (n > 0) used += (size_t)n;
    }
}

/* A list of configuration errors has a line each. */
void app_report_error(void)
{
    const char *message = wsc_err_message();
    while (!reported && *message) {
        int length = (int)strcspn(message, "\n");
        (void)fprintf(stderr, "wsc: error: %.*s\n", length, message);
        message += length + (message[length] == '\n');
    }
    reported = true;
}
