// SPDX-License-Identifier: Apache-2.0
/* Event files read back by a decoder of its own: records, checksums, fields; and against a file
 * that tests/fixtures/make_events.py wrote. */
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/out.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the decoder ----------------------------------------------------------------------------- */

struct reader {
    const unsigned char *at, *end;
    bool bad;
};

static uint64_t little(const unsigned char *x, int n)
{
    uint64_t value = 0;
    for (int i = n; i--;)
        value = value << 8 | x[i];
    return value;
}

static uint64_t varint(struct reader *r)
{
    uint64_t value = 0;
    for (int shift = 0; r->at < r->end && shift < 64; shift += 7) {
        const unsigned char byte = *r->at++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80)) return value;
    }
    r->bad = true;
    return 0;
}

/* A table-driven CRC: another way than the writer's. */
static uint32_t masked_crc(const unsigned char *x, size_t n)
{
    static uint32_t table[256];
    uint32_t crc = 0xFFFFFFFF;
    for (uint32_t i = 0; i < 256 && !table[255]; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? c >> 1 ^ 0x82F63B78 : c >> 1;
        table[i] = c;
    }
    for (size_t i = 0; i < n; i++)
        crc = crc >> 8 ^ table[(crc ^ x[i]) & 0xFF];
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

struct value {
    char tag[64];
    float x;
};
struct event {
    double wall_time;
    int64_t step;
    char version[32];
    int n;
    struct value value[16];
};

/* The bytes of a length-delimited field. */
static struct reader inner(struct reader *r)
{
    const uint64_t n = varint(r);
    struct reader in = {r->at, r->at, true};
    if (r->bad || n > (uint64_t)(r->end - r->at)) {
        r->bad = true;
        return in;
    }
    in = (struct reader){r->at, r->at + n, false};
    r->at += n;
    return in;
}

static void copy(char *text, size_t size, const struct reader *in)
{
    (void)snprintf(text, size, "%.*s", (int)(in->end - in->at), (const char *)in->at);
}

static void read_value(struct reader r, struct value *v)
{
    while (r.at < r.end && !r.bad) {
        const uint64_t key = varint(&r);
        if (key == (1 << 3 | 2)) {
            const struct reader tag = inner(&r);
            copy(v->tag, sizeof v->tag, &tag);
        } else if (key == (2 << 3 | 5) && r.end - r.at >= 4) {
            const uint32_t bits = (uint32_t)little(r.at, 4);
            memcpy(&v->x, &bits, 4);
            r.at += 4;
        } else {
            r.bad = true;
        }
    }
    CU_ASSERT(!r.bad);
}

static void read_summary(struct reader r, struct event *e)
{
    while (r.at < r.end && !r.bad && e->n < 16) {
        r.bad = varint(&r) != (1 << 3 | 2);
        read_value(inner(&r), &e->value[e->n++]);
    }
    CU_ASSERT(!r.bad);
}

static void read_field(struct reader *r, struct event *e)
{
    const uint64_t key = varint(r);
    if (key == (1 << 3 | 1) && r->end - r->at >= 8) {
        const uint64_t bits = little(r->at, 8);
        memcpy(&e->wall_time, &bits, 8);
        r->at += 8;
    } else if (key == (2 << 3 | 0)) {
        e->step = (int64_t)varint(r);
    } else if (key == (3 << 3 | 2)) {
        const struct reader version = inner(r);
        copy(e->version, sizeof e->version, &version);
    } else if (key == (5 << 3 | 2)) {
        read_summary(inner(r), e);
    } else {
        r->bad = true;
    }
}

/* The next record; false at the end.  Everything else than a whole good record fails the test. */
static bool read_record(struct reader *file, struct event *e)
{
    *e = (struct event){0};
    if (file->at == file->end) return false;
    CU_ASSERT_FATAL(file->end - file->at >= 16);
    const uint64_t n = little(file->at, 8);
    CU_ASSERT_EQUAL(little(file->at + 8, 4), masked_crc(file->at, 8));
    CU_ASSERT_FATAL(n <= (uint64_t)(file->end - file->at) - 16);
    struct reader r = {file->at + 12, file->at + 12 + n, false};
    CU_ASSERT_EQUAL(little(r.end, 4), masked_crc(r.at, n));
    file->at = r.end + 4;
    while (r.at < r.end && !r.bad)
        read_field(&r, e);
    CU_ASSERT(!r.bad);
    return true;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The only event file of @p dir, owned. */
static unsigned char *read_events(const char *dir, size_t *n, char name[256])
{
    char path[600];
    DIR *d = opendir(dir);
    if (!d) abort();
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        if (strstr(e->d_name, "events.out.tfevents.")) (void)snprintf(name, 256, "%s", e->d_name);
    (void)closedir(d);
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "rb");
    unsigned char *bytes = wsc_alloc(WSC_MEM_TEST, 1 << 16, 1);
    if (!file || !bytes) abort();
    *n = fread(bytes, 1, 1 << 16, file);
    (void)fclose(file);
    return bytes;
}

TEST(events, a_file_is_read_back)
{
    char dir[300], name[256] = "";
    size_t n;
    struct out_events *w = NULL;
    struct event e;
    const struct out_scalar first[] = {{"loss", 2.5}, {"absent", NAN}, {"lr/0", 1e-30}},
                            second[] = {{"eval/accuracy", -0.0}}, nothing[] = {{"absent", NAN}};
    (void)snprintf(dir, sizeof dir, "%s/events/train", test_tmpdir());
    T_OK(out_events_open(&w, dir));
    T_OK(out_events_scalars(w, 1, first, 3));
    T_OK(out_events_scalars(w, (int64_t)1 << 40, second, 1));
    T_OK(out_events_scalars(w, 7, nothing, 1));
    out_events_close(&w);
    unsigned char *bytes = read_events(dir, &n, name);
    struct reader file = {bytes, bytes + n, false};
    CU_ASSERT_FATAL(read_record(&file, &e));
    T_STR(e.version, "brain.Event:2");
    CU_ASSERT(e.wall_time > 1.7e9);
    CU_ASSERT_FATAL(read_record(&file, &e));
    T_EQ(e.step, 1);
    T_EQ(e.n, 2);
    T_STR(e.value[0].tag, "loss");
    CU_ASSERT(e.value[0].x == 2.5F);
    T_STR(e.value[1].tag, "lr/0");
    CU_ASSERT(e.value[1].x == 1e-30F);
    CU_ASSERT_FATAL(read_record(&file, &e));
    T_EQ(e.step, (int64_t)1 << 40);
    T_STR(e.value[0].tag, "eval/accuracy");
    CU_ASSERT(e.value[0].x == 0 && signbit(e.value[0].x));
    CU_ASSERT(!read_record(&file, &e));
    wsc_free(bytes);
}

/* Another program's file of the same events: the same bytes, but for the times. */
TEST(events, bytes_are_those_of_an_independent_writer)
{
    char dir[300], name[256] = "";
    size_t n = 0, expected = 0;
    struct out_events *w = NULL;
    const struct out_scalar scalar[] = {{"loss", 2.5}, {"lr/0", 0.001}};
    (void)snprintf(dir, sizeof dir, "%s/events/same", test_tmpdir());
    T_OK(out_events_open(&w, dir));
    T_OK(out_events_scalars(w, 300, scalar, 2));
    out_events_close(&w);
    unsigned char *ours = read_events(dir, &n, name);
    unsigned char *theirs = read_events("tests/data/events", &expected, name);
    CU_ASSERT_FATAL(n == expected);
    /* After the header of a record of 12 bytes stand a key and the time of 8, then what is
     * compared, then a checksum of 4. */
    for (size_t at = 0; at < n; at += 16 + (size_t)little(ours + at, 8)) {
        const size_t length = (size_t)little(theirs + at, 8);
        CU_ASSERT(!memcmp(ours + at, theirs + at, 13));
        CU_ASSERT(!memcmp(ours + at + 21, theirs + at + 21, length - 9));
    }
    wsc_free(ours);
    wsc_free(theirs);
}

TEST(events, several_files_of_one_second_do_not_meet)
{
    char dir[300];
    struct out_events *a = NULL, *b = NULL;
    (void)snprintf(dir, sizeof dir, "%s/events/two", test_tmpdir());
    T_OK(out_events_open(&a, dir));
    T_OK(out_events_open(&b, dir));
    out_events_close(&a);
    out_events_close(&b);
    T_EQ(out_events_open(&a, "/proc/none"), WSC_IO);
}
