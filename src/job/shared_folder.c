// SPDX-License-Identifier: Apache-2.0
/* Shards on several hosts write one checkpoint together, so that model_dir must be the same folder
 * everywhere.  Rank 0 puts a file there, and every other host must see it.  Otherwise
 * each host would write the parts of its shards into a file of its own, and none would be whole.
 * Called by job.c. */
#include "shared_folder.h"

#include <wsc/mem.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static enum wsc_err make_mark(const char *dir, char **path)
{
    *path = wsc_asprintf(WSC_MEM_RUN, "%s/.shared.XXXXXX", dir);
    if (!*path) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "mark");
    const int fd = mkstemp(*path);
    if (fd >= 0) {
        (void)close(fd);
        return WSC_OK;
    }
    const int why = errno;
    wsc_free(*path);
    *path = NULL;
    return WSC_RAISE(WSC_IO, "%s: cannot be written to: %s", dir, strerror(why));
}

/* Network file systems show a new file to other hosts after some seconds. */
static bool appears(const char *path)
{
    enum { TRIES = 100 };
    const struct timespec nap = {.tv_nsec = 100000000};
    for (int i = 0; i < TRIES; i++) {
        if (!access(path, F_OK)) return true;
        (void)nanosleep(&nap, NULL);
    }
    return false;
}

/* Only ranks with shards write, and only those on other hosts than rank 0 can see another folder.
 */
static enum wsc_err look_for_mark(const struct job_state *s, const char *mark)
{
    const int *host = comm_host_of_rank(s->comm), rank = comm_rank(s->comm);
    if (!mark || !s->checkpoint.in_group || host[rank] == host[0] || appears(mark)) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_IO, "%s: not the same folder on %s and on %s",
                                  s->job->params->runconfig.model_dir, comm_host_name(s->comm, 0),
                                  comm_host_name(s->comm, rank)),
                        "model_dir has to lie on a file system that all hosts share");
}

static bool on_several_hosts(const struct comm *comm)
{
    const int *host = comm_host_of_rank(comm);
    for (int r = 1; r < comm_size(comm); r++)
        if (host[r] != host[0]) return true;
    return false;
}

enum wsc_err job_check_shared(const struct job_state *s, bool *report)
{
    char *mark = NULL;
    enum wsc_err rc = WSC_OK;
    if (!s->job->values || !on_several_hosts(s->comm)) return WSC_OK;
    if (comm_rank(s->comm) == 0) rc = make_mark(s->job->params->runconfig.model_dir, &mark);
    int64_t bytes = mark ? (int64_t)strlen(mark) + 1 : -1;
    rc = comm_agree(s->comm, rc, report);
    if (rc) return rc;
    rc = comm_share(s->comm, &mark, &bytes);
    if (!rc) rc = look_for_mark(s, mark);
    rc = comm_agree(s->comm, rc, report);
    if (mark && comm_rank(s->comm) == 0) (void)unlink(mark);
    wsc_free(mark);
    return rc;
}
