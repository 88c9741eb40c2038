// SPDX-License-Identifier: Apache-2.0
/* Computes sizes and hashes of the files of a data source, by which copies are compared. A file
 * within its limit is hashed as a whole; a larger one in blocks of 1 MiB that are spread evenly
 * over it, including the first and the last, so that the work is bounded. The hash of a file is the
 * XXH3 of each block, with the hash of the block before as seed. data_source_sums() in
 * source_files.c calls; src/job/job_same.c compares the ranks. */
#include "file_sum.h"

#include <wsc/hash.h>
#include <wsc/mem.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 1 << 20 };

/* Add the bytes from @p at to @p end, at most a block, to *@p hash. */
static enum wsc_err add_block(int fd, const char *path, int64_t at, int64_t end, char *block,
                              uint64_t *hash)
{
    size_t n = 0;
    const size_t wanted = (size_t)(end - at < BLOCK ? end - at : BLOCK);
    while (n < wanted) {
        const ssize_t got = pread(fd, block + n, wanted - n, (off_t)(at + (int64_t)n));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return WSC_RAISE(WSC_IO, "%s: cannot be read: %s", path, strerror(errno));
        if (!got) return WSC_RAISE(WSC_IO, "%s: was changed while it is in use", path);
        n += (size_t)got;
    }
    *hash = wsc_hash64(block, n, *hash);
    return WSC_OK;
}

/* Add blocks; block k of n begins at block k (all - 1) / (n - 1) of the file, so n = all selects
 * all blocks. */
static enum wsc_err add_blocks(int fd, const char *path, int64_t most, struct data_file_sum *sum)
{
    const int64_t all = (sum->size + BLOCK - 1) / BLOCK;
    int64_t n = most / BLOCK < 2 ? 2 : most / BLOCK;
    char *block;
    if (n > all) n = all;
    sum->whole = n == all;
    TRY_MEM(block, wsc_alloc_raw(WSC_MEM_DATA, BLOCK, 1));
    enum wsc_err rc = WSC_OK;
    for (int64_t k = 0; k < n && !rc; k++) {
        const int64_t at = n == 1 ? 0 : k * (all - 1) / (n - 1) * BLOCK;
        rc = add_block(fd, path, at, sum->size, block, &sum->hash);
    }
    wsc_free(block);
    return rc;
}

enum wsc_err data_sum_file(const char *path, int64_t most, struct data_file_sum *sum)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe would be waited for */
    *sum = (struct data_file_sum){.path = path};
    if (fd < 0) return WSC_RAISE(WSC_IO, "%s: cannot be opened: %s", path, strerror(errno));
    enum wsc_err rc = WSC_OK;
    if (fstat(fd, &st))
        rc = WSC_RAISE(WSC_IO, "%s: cannot be looked at: %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        rc = WSC_RAISE(WSC_IO, "%s: is not a regular file", path);
    else
        sum->size = (int64_t)st.st_size;
    if (!rc) rc = add_blocks(fd, path, most, sum);
    (void)close(fd);
    return rc;
}
