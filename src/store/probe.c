// SPDX-License-Identifier: Apache-2.0
/* HDF5 1.10 believes what a file says about itself in places that no checksum guards: a damaged
 * table of links or heap ends the process that opens it.  So another process opens it first. */
#include "store_impl.h"

#include <wsc/mem.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of processor time for what is milliseconds of work, and in all, on a slow file system. */
enum { MOST_CPU_SECONDS = 5, MOST_SECONDS = 120 };

/* ---- in the other process -------------------------------------------------------------------- */

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

/* All that is read of a file before its values: what is wrong is found again by the caller. */
static void look_at_file(char *path)
{
    hid_t file = H5I_INVALID_HID;
    if (store_h5_open(&file, path)) return;
    look_at_attributes(file, path);
    (void)H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, NULL, look_at_link, path);
    (void)H5Fclose(file);
}

/* Its end is silent, whatever handlers were there. */
static void prepare(void)
{
    static const int ends[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM, SIGXCPU};
    const struct rlimit no_core = {0, 0}, cpu = {MOST_CPU_SECONDS, MOST_CPU_SECONDS + 1};
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        (void)signal(ends[i], SIG_DFL);
        (void)sigaddset(&set, ends[i]);
    }
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)setrlimit(RLIMIT_CPU, &cpu);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) (void)dup2(nowhere, STDERR_FILENO);
    (void)alarm(MOST_SECONDS);
}

/* ---- in this one ----------------------------------------------------------------------------- */

/* It says so when it got to the end; how the process ends after that is of no interest. */
static enum wsc_err wait_for(pid_t other, int from, const char *path)
{
    char through = 0;
    int status = 0;
    while (read(from, &through, 1) < 0 && errno == EINTR) {
    }
    while (waitpid(other, &status, 0) < 0 && errno == EINTR) {
    }
    if (through) return WSC_OK;
    enum wsc_err rc = WSC_RAISE(WSC_FORMAT, "%s: is damaged: HDF5 does not get through it (%s)",
                                path, WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "error");
    return wsc_err_hint(rc, "use an older checkpoint, or make the dataset again");
}

enum wsc_err store_probe(const char *path)
{
    int ends[2];
    char *copy = wsc_strdup(WSC_MEM_STORE, path);
    if (!copy) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "path");
    store_h5_silence();
    const bool can_tell = !pipe2(ends, O_CLOEXEC);
    const pid_t other = can_tell ? fork() : -1;
    if (other == 0) {
        prepare();
        look_at_file(copy);
        _exit(write(ends[1], "+", 1) == 1 ? 0 : 1);
    }
    wsc_free(copy);
    if (can_tell) (void)close(ends[1]);
    /* Without a process: without this precaution. */
    enum wsc_err rc = other < 0 ? WSC_OK : wait_for(other, ends[0], path);
    if (can_tell) (void)close(ends[0]);
    return rc;
}
