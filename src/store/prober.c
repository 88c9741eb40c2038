// SPDX-License-Identifier: Apache-2.0
/* Serves the requests of store_probe() (probe.c) in a separate process: it checks HDF5 files. The
 * process is started from the program's own file, has one thread and has opened nothing, so it may
 * fork. Each request is an open descriptor. A child reads all of that file except the values, under
 * a limit of processor time; the way in which the child ends is the verdict. A damaged file can
 * corrupt the memory of one child, but no later request. The process ends when the socket closes,
 * that is, with the program that started it. */
#include "prober.h"
#include "h5.h"
#include "h5_error.h"
#include "h5_info.h"
#include "h5_number.h"
#include "h5_text.h"

#include <wsc/mem.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Limit of processor time for some milliseconds of work, and limit of time in all, for a slow file
 * system. */
enum { MOST_CPU_SECONDS = 5, MOST_SECONDS = 120 };

/* ---- the walk through a file ----------------------------------------------------------------- */

static herr_t look_at_attribute(hid_t object, const char *name, const H5A_info_t *info, void *path)
{
    int64_t value;
    bool present;
    char *text = NULL;
    (void)info;
    if (!store_h5_get_i64(object, path, name, &value, &present)) return 0;
    if (!store_h5_get_text(object, path, name, &text)) wsc_free(text);
    return 0;
}

static void look_at_attributes(hid_t object, char *path)
{
    hsize_t at = 0;
    (void)H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &at, look_at_attribute, path);
}

static herr_t look_at_link(hid_t root, const char *name, const H5L_info_t *link, void *path)
{
    struct store_info info = {.n = 0};
    hid_t dset = H5I_INVALID_HID;
    (void)link;
    if (store_h5_dataset(&dset, root, path, name, H5P_DEFAULT)) return 0;
    (void)!store_h5_inspect(path, name, dset, &info);
    look_at_attributes(dset, path);
    (void)H5Dclose(dset);
    return 0;
}

/* Read the parts of a file that are read before its values. Errors that HDF5 reports do not count:
 * the program that asked finds them itself. */
static void look_at_file(int fd)
{
    char path[32];
    hid_t file = H5I_INVALID_HID;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (store_h5_open(&file, path)) return;
    look_at_attributes(file, path);
    (void)H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, NULL, look_at_link, path);
    (void)H5Fclose(file);
}

/* The child ends by itself, in time and without a message. */
static void limit(void)
{
    static const int ends[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL, SIGABRT, SIGALRM,
                               SIGXCPU, SIGTERM, SIGINT, SIGHUP, SIGUSR1};
    const struct rlimit no_core = {0, 0}, cpu = {MOST_CPU_SECONDS, MOST_CPU_SECONDS + 1};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        (void)signal(ends[i], i < 7 ? SIG_DFL : SIG_IGN);
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)setrlimit(RLIMIT_CPU, &cpu);
    (void)alarm(MOST_SECONDS);
}

/* ---- serving --------------------------------------------------------------------------------- */

int store_reap(pid_t pid)
{
    int status = 0;
    pid_t done;
    do {
        done = waitpid(pid, &status, 0);
    } while (done < 0 && errno == EINTR);
    return done == pid ? status : -1;
}

static struct store_verdict look(int fd)
{
    const pid_t child = fork();
    if (child < 0) return (struct store_verdict){STORE_LOOK_NOT_STARTED, errno};
    if (child == 0) {
        limit();
        look_at_file(fd);
        _exit(0);
    }
    const int status = store_reap(child);
    if (status == 0) return (struct store_verdict){STORE_LOOK_PASSED, 0};
    return (struct store_verdict){STORE_LOOK_FAILED, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

/* Receive a descriptor from the socket @p from; -1 at its end or on failure. */
static int receive_fd(int from)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    char byte;
    struct iovec text = {&byte, 1};
    struct msghdr message = {.msg_iov = &text,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t n;
    int fd = -1;
    do {
        n = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    const struct cmsghdr *c = n == 1 ? CMSG_FIRSTHDR(&message) : NULL;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

void store_prober_serve(int from)
{
    /* Signals to the whole process group are meant for the program, which may still have to read.
     */
    static const int group[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE};
    for (size_t i = 0; i < sizeof group / sizeof *group; i++)
        (void)signal(group[i], SIG_IGN);
    (void)H5open();
    store_h5_silence();
    for (int fd; (fd = receive_fd(from)) >= 0;) {
        const struct store_verdict verdict = look(fd);
        (void)close(fd);
        if (send(from, &verdict, sizeof verdict, MSG_NOSIGNAL) != sizeof verdict) return;
    }
}
