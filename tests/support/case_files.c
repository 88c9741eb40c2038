// SPDX-License-Identifier: Apache-2.0
/* Files of one test and what it prints; see case_files.h. */
#include "case_files.h"

#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { MAX_TEXT = 1 << 20 };

const char *case_path(const char *name)
{
    static char path[8][256];
    static int turn;
    turn = (turn + 1) % 8;
    (void)snprintf(path[turn], sizeof path[turn], "%s/%s", test_tmpdir(), name);
    return path[turn];
}

const char *case_read(const char *path)
{
    static char text[MAX_TEXT];
    size_t n = 0;
    FILE *file = fopen(path, "rb");
    if (file) n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    if (file) (void)fclose(file);
    return text;
}

void case_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT(fputs(text, file) >= 0);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

const char *case_capture(int fd, void (*body)(void))
{
    const char *path = case_path("captured");
    int saved, file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    (void)fflush(stdout);
    saved = dup(fd);
    CU_ASSERT_FATAL(file >= 0 && saved >= 0 && dup2(file, fd) == fd);
    body();
    (void)fflush(stdout);
    (void)dup2(saved, fd);
    (void)close(saved);
    (void)close(file);
    return case_read(path);
}
