// SPDX-License-Identifier: Apache-2.0
/* Reads the quota of processors of a control group (version 2). A quota may be set for the group of
 * the process or for any group above it, as for a slice of systemd, and the smallest one counts.
 * Where the process has a name space of its own, as in a container, its group is the root. */
#include "comm_state.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The quota of one group in processors; 0: none. */
static double quota_of(const char *root, const char *path)
{
    char name[2 * PATH_MAX], line[64] = "", *end;
    (void)snprintf(name, sizeof name, "%s%s/cpu.max", root, path);
    FILE *file = fopen(name, "r");
    if (!file) return 0;
    if (!fgets(line, sizeof line, file)) *line = '\0';
    (void)fclose(file);
    /* In microseconds; without a quota the file says `max`. */
    const long long quota = strtoll(line, &end, 10), period = strtoll(end, NULL, 10);
    return quota > 0 && period > 0 ? (double)quota / (double)period : 0;
}

/* The path of this process's group, "" for the root: in the line `0::/user.slice/job`, beside which
 * version 1 has lines of its own. */
static void find_group(const char *groups, char path[PATH_MAX])
{
    static const char head[] = "0::/";
    char line[PATH_MAX];
    FILE *file = fopen(groups, "r");
    *path = '\0';
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, head, sizeof head - 1) != 0) continue;
        line[strcspn(line, "\n")] = '\0';
        (void)snprintf(path, PATH_MAX, "%s", line + sizeof head - 2);
    }
    if (file) (void)fclose(file);
}

double comm_quota_in(const char *groups, const char *root)
{
    char path[PATH_MAX];
    double least = 0;
    find_group(groups, path);
    for (char *end = path + strlen(path); end; end = strrchr(path, '/')) {
        *end = '\0';
        const double quota = quota_of(root, path);
        if (quota > 0 && (least <= 0 || quota < least)) least = quota;
    }
    return least;
}
