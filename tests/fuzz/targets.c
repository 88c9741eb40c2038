// SPDX-License-Identifier: Apache-2.0
/* The table of targets, and what they share. */
#include "fuzz.h"

#include <wsc/err.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const struct fuzz_target fuzz_target[] = {
#define XX(name, what) {#name, what, fuzz_##name},
    FUZZ_TARGET_MAP(XX)
#undef XX
        {NULL, NULL, NULL}};

void fuzz_check(bool ok, const char *what)
{
    if (ok) return;
    (void)fprintf(stderr, "fuzz: %s; last error: %s\n", what, wsc_err_message());
    abort();
}

bool fuzz_taken(enum wsc_err rc)
{
    if (rc) fuzz_check(wsc_err_message()[0] != '\0', "an error without a message");
    return rc == WSC_OK;
}

void fuzz_check_memory(enum wsc_mem_tag tag)
{
    if (wsc_mem_in_use(tag)) (void)wsc_mem_balanced(); /* says how much */
    fuzz_check(wsc_mem_in_use(tag) == 0, "memory is left");
}

unsigned fuzz_next(struct fuzz_bytes *in)
{
    if (!in->n) return 0;
    in->n--;
    return *in->at++;
}

char *fuzz_as_text(const uint8_t *bytes, size_t n)
{
    char *text = wsc_alloc_raw(WSC_MEM_TEST, n + 1, 1);
    fuzz_check(text != NULL, "no memory");
    memcpy(text, bytes, n);
    text[n] = '\0';
    return text;
}

int fuzz_as_file(const uint8_t *bytes, size_t n, char path[FUZZ_PATH_BYTES])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    fuzz_check(fd >= 0 && write(fd, bytes, n) == (ssize_t)n, "no file in memory");
    (void)snprintf(path, FUZZ_PATH_BYTES, "/proc/self/fd/%d", fd);
    return fd;
}

/* ---- the folder ------------------------------------------------------------------------------ */

static char folder[FUZZ_PATH_BYTES];

static void remove_folder(void)
{
    DIR *d = opendir(folder);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        if (e->d_name[0] != '.') (void)unlinkat(dirfd(d), e->d_name, 0);
    if (d) (void)closedir(d);
    (void)rmdir(folder);
}

const char *fuzz_folder(void)
{
    const char *shared = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    if (*folder) return folder;
    (void)snprintf(folder, sizeof folder, "%s/wsc-fuzz-XXXXXX", shared);
    fuzz_check(mkdtemp(folder) != NULL && !atexit(remove_folder), "no folder");
    return folder;
}

const char *fuzz_put(const char *name, const uint8_t *bytes, size_t n)
{
    static char path[FUZZ_PATH_BYTES + 64];
    (void)snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    FILE *f = fopen(path, "wb");
    fuzz_check(f != NULL, "no file");
    fuzz_check(fwrite(bytes, 1, n, f) == n && !fclose(f), "no room for a file");
    return path;
}
