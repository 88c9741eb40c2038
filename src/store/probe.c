// SPDX-License-Identifier: Apache-2.0
/* Checks an HDF5 file in another process before this one opens it. HDF5 1.10 trusts parts of a
 * file that no checksum guards: a damaged table of links or heap ends the process that opens the
 * file. The other process is this program again, started by posix_spawn with a hidden subcommand,
 * since a fork of a rank that has threads could not call HDF5. It starts with the first file,
 * stays, and receives the open descriptor of each file over a socket; prober.c is its side. A file
 * that could not be checked is not opened. */
#include "prober.h"

#include <wsc/err.h>
#include <wsc/store.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* The running prober: one for the process, as HDF5 is. A fork of the process has none. */
static struct {
    const char *program; /* NULL until store_probe_served() */
    pid_t pid, owner;
    int socket;
} prober;

/* The file of this program, also after another file got its name. Under valgrind the link leads to
 * valgrind, and its target is the program. */
static const char *own_file(void)
{
    static const char link[] = "/proc/self/exe";
    static char name[PATH_MAX];
    struct stat linked, named;
    const ssize_t n = readlink(link, name, sizeof name - 1);
    if (n < 0 || stat(link, &linked) || stat(name, &named)) return link;
    return linked.st_ino == named.st_ino && linked.st_dev == named.st_dev ? link : name;
}

bool store_probe_served(int argc, char **argv)
{
    struct stat info;
    prober.program = own_file();
    if (argc != 2 || strcmp(argv[1], STORE_PROBE_COMMAND) != 0) return false;
    if (!fstat(STDIN_FILENO, &info) && S_ISSOCK(info.st_mode)) store_prober_serve(STDIN_FILENO);
    return true;
}

/* Only the process that has started the prober waits for its end. */
static void stop(void)
{
    if (!prober.pid) return;
    (void)close(prober.socket);
    if (prober.owner == getpid()) (void)store_reap(prober.pid);
    prober.pid = 0;
}

void store_probe_with(const char *program)
{
    stop();
    prober.program = program;
}

/* ---- starting it ----------------------------------------------------------------------------- */

/* The prober inherits nothing but the socket: no lock, no connection. */
static int add_files(posix_spawn_file_actions_t *a, int socket)
{
    int why = posix_spawn_file_actions_adddup2(a, socket, STDIN_FILENO);
    if (!why) why = posix_spawn_file_actions_addopen(a, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!why) why = posix_spawn_file_actions_adddup2(a, STDOUT_FILENO, STDERR_FILENO);
    if (!why) why = posix_spawn_file_actions_addclosefrom_np(a, STDERR_FILENO + 1);
    return why;
}

/* The prober handles signals like a new program, even if this process blocks some. */
static int set_signals(posix_spawnattr_t *attr)
{
    sigset_t none, all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    int why = posix_spawnattr_setsigmask(attr, &none);
    if (!why) why = posix_spawnattr_setsigdefault(attr, &all);
    if (!why) why = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    return why;
}

/* Returns 0 or an errno. */
static int spawn(pid_t *pid, int socket)
{
    char name[] = "wsc", command[] = STORE_PROBE_COMMAND;
    char *argv[] = {name, command, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    int why = posix_spawn_file_actions_init(&files);
    if (why) return why;
    why = posix_spawnattr_init(&attr);
    if (!why) {
        why = add_files(&files, socket);
        if (!why) why = set_signals(&attr);
        if (!why) why = posix_spawn(pid, prober.program, &files, &attr, argv, environ);
        (void)posix_spawnattr_destroy(&attr);
    }
    (void)posix_spawn_file_actions_destroy(&files);
    return why;
}

static enum wsc_err not_looked_at(const char *path, int why)
{
    return wsc_err_hint(
        WSC_RAISE(WSC_IO, "%s: no process can be started to look at it first: %s", path,
                  strerror(why)),
        "HDF5 files are opened only after that; see the limits of ulimit -u and ulimit -n");
}

/* One prober for the process; a fork of its owner starts its own. */
static enum wsc_err start(const char *path)
{
    int ends[2];
    if (!prober.program)
        return wsc_err_hint(
            WSC_RAISE(WSC_USAGE, "%s: no program is named that looks at it first", path),
            "libwsc_use_program(); of the Python module WSC_PROGRAM=FILE beside "
            "WSC_LIBRARY");
    if (prober.pid && prober.owner == getpid()) return WSC_OK;
    stop();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return not_looked_at(path, errno);
    const int why = spawn(&prober.pid, ends[1]);
    (void)close(ends[1]);
    if (!why) {
        prober.owner = getpid();
        prober.socket = ends[0];
        return WSC_OK;
    }
    prober.pid = 0;
    (void)close(ends[0]);
    return not_looked_at(path, why);
}

/* ---- asking it ------------------------------------------------------------------------------- */

/* Send descriptor @p fd over the socket @p to; -1 and errno on failure. */
static int send_fd(int to, int fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    char byte = 0;
    struct iovec text = {&byte, 1};
    struct msghdr message = {.msg_iov = &text,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    ssize_t n;
    do {
        n = sendmsg(to, &message, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n == 1 ? 0 : -1;
}

/* Ask the prober; false when it has ended. */
static bool ask(int fd, struct store_verdict *verdict)
{
    ssize_t n;
    if (send_fd(prober.socket, fd)) return false;
    do {
        n = recv(prober.socket, verdict, sizeof *verdict, 0);
    } while (n < 0 && errno == EINTR);
    return n == sizeof *verdict;
}

/* A prober that has ended, for example because a user killed it, is started again once. */
static enum wsc_err probe(const char *path, int fd)
{
    struct store_verdict v = {0};
    TRY(start(path));
    if (!ask(fd, &v)) {
        stop();
        TRY(start(path));
        if (!ask(fd, &v)) {
            stop();
            return not_looked_at(path, ECHILD);
        }
    }
    if (v.kind == STORE_LOOK_PASSED) return WSC_OK;
    if (v.kind == STORE_LOOK_NOT_STARTED) return not_looked_at(path, v.detail);
    return wsc_err_hint(WSC_RAISE(WSC_FORMAT, "%s: is damaged: HDF5 does not get through it (%s)",
                                  path, v.detail ? strsignal(v.detail) : "error"),
                        "use an older checkpoint, or make the dataset again");
}

/* O_NONBLOCK, because opening a pipe would wait for its writer. */
enum wsc_err store_probe(const char *path)
{
    struct stat info;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    enum wsc_err rc = WSC_OK;
    if (fstat(fd, &info))
        rc = WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    else if (!S_ISREG(info.st_mode))
        rc = WSC_RAISE(WSC_IO, "%s: is not a regular file", path);
    else
        rc = probe(path, fd);
    (void)close(fd);
    return rc;
}
