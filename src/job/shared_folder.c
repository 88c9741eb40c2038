// SPDX-License-Identifier: Apache-2.0
/* Ranks that write one file together need one folder.  On several hosts, or where ranks have
 * working folders of their own, it may be another one: rank 0 puts a file there, and every rank
 * that writes must see it.  Otherwise each would wait in HDF5 for a file that it cannot open, or
 * write its parts into a file of its own.  Called by job_setup.c, and by `wsc mesh` for its
 * snapshots. */
#include "shared_folder.h"

#include <wsc/mem.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A new file beside @p place, or in it where it ends with a slash. */
static enum wsc_err make_mark(const char *place, char **path)
{
    *path = wsc_asprintf(WSC_MEM_RUN, "%s.shared.XXXXXX", place);
    if (!*path) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "mark");
    const int fd = mkstemp(*path);
    if (fd >= 0) {
        (void)close(fd);
        return WSC_OK;
    }
    const int why = errno;
    wsc_free(*path);
    *path = NULL;
    return WSC_RAISE(WSC_IO, "%s: cannot be written to: %s", place, strerror(why));
}

/* Network file systems show a new file to other hosts after some seconds. */
static bool appears(const char *path, bool other_host)
{
    enum { TRIES = 100 };
    const struct timespec nap = {.tv_nsec = 100000000};
    for (int i = 0; i < (other_host ? TRIES : 1); i++) {
        if (i) (void)nanosleep(&nap, NULL);
        if (!access(path, F_OK)) return true;
    }
    return false;
}

static enum wsc_err look_for_mark(const struct comm *comm, const char *place, const char *mark)
{
    const int *host = comm_host_of_rank(comm), rank = comm_rank(comm);
    if (appears(mark, host[rank] != host[0])) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_IO,
                                  "%s: not the same place for rank 0 on %s and rank %d on %s",
                                  place, comm_host_name(comm, 0), rank, comm_host_name(comm, rank)),
                        "it has to lie on a file system that all hosts share; a path without / at "
                        "its beginning starts in the working folder of each rank");
}

enum wsc_err job_check_shared(struct comm *comm, const char *place, bool writes, bool *report)
{
    char *mark = NULL;
    enum wsc_err rc = WSC_OK;
    if (comm_size(comm) == 1) return WSC_OK;
    if (comm_rank(comm) == 0) rc = make_mark(place, &mark);
    int64_t bytes = mark ? (int64_t)strlen(mark) + 1 : -1;
    rc = comm_agree(comm, rc, report);
    if (rc) return rc;
    rc = comm_share(comm, &mark, &bytes);
    if (!rc && writes) rc = look_for_mark(comm, place, mark);
    rc = comm_agree(comm, rc, report);
    if (mark && comm_rank(comm) == 0) (void)unlink(mark);
    wsc_free(mark);
    return rc;
}

enum wsc_err job_check_shared_files(const struct job_state *s, bool *report)
{
    const struct job *job = s->job;
    const bool writes = s->checkpoint.in_group;
    if (!job->values) return WSC_OK;
    char *dir = wsc_asprintf(WSC_MEM_RUN, "%s/", job->params->runconfig.model_dir);
    enum wsc_err rc = dir ? WSC_OK : wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "folder");
    rc = comm_agree(s->comm, rc, report);
    if (!rc) rc = job_check_shared(s->comm, dir, writes, report);
    if (!rc && job->dump_gradients)
        rc = job_check_shared(s->comm, job->dump_gradients, writes, report);
    wsc_free(dir);
    return rc;
}
