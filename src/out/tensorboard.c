// SPDX-License-Identifier: Apache-2.0
/* TensorBoard's event files: TFRecords (length, masked CRC-32C of it, payload, masked CRC-32C of
 * it) of the protocol-buffer message Event, of which five fields are needed:
 *   Event {double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5;}
 *   Summary {repeated Value value = 1;}   Value {string tag = 1; float simple_value = 2;}
 * tensorflow/core/util/event.proto, core/framework/summary.proto, core/lib/io/record_writer.h. */
#include <wsc/file.h>
#include <wsc/out.h>

#include <wsc/clock.h>
#include <wsc/mem.h>

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

struct out_events {
    char *path; /* owned */
    int fd;
};

/* ---- CRC-32C (Castagnoli), RFC 3720 section 12.1 --------------------------------------------- */

/* Bit by bit: events are short, a table would not show. */
static uint32_t crc32c(const void *data, size_t n)
{
    const uint8_t *x = data;
    uint32_t crc = 0xFFFFFFFFU;
    for (size_t i = 0; i < n; i++) {
        crc ^= x[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0x82F63B78U & (0U - (crc & 1U)));
    }
    return ~crc;
}

/* So that the checksum of data with a checksum in it is not trivial. */
static uint32_t masked_crc(const void *data, size_t n)
{
    const uint32_t crc = crc32c(data, n);
    return htole32((crc >> 15 | crc << 17) + 0xA282EAD8U);
}

/* ---- the wire format of protocol buffers ----------------------------------------------------- */

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

/* Seven bits a byte, the lowest first, the upper bit set on all but the last. */
static void add_varint(struct wsc_text *t, uint64_t x)
{
    for (; x >= 0x80; x >>= 7)
        wsc_text_bytes(t, &(char){(char)(x | 0x80)}, 1);
    wsc_text_bytes(t, &(char){(char)x}, 1);
}

/* A field's number and wire type. */
static void add_key(struct wsc_text *t, int field, enum wire wire)
{
    add_varint(t, (uint64_t)field << 3 | wire);
}

/* A field of bytes: strings and nested messages. */
static void add_bytes(struct wsc_text *t, int field, const char *bytes, size_t n)
{
    add_key(t, field, BYTES);
    add_varint(t, n);
    wsc_text_bytes(t, bytes, n);
}

static void add_double(struct wsc_text *t, int field, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = htole64(bits);
    add_key(t, field, FIXED64);
    wsc_text_bytes(t, (const char *)&bits, sizeof bits);
}

static void add_float(struct wsc_text *t, int field, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = htole32(bits);
    add_key(t, field, FIXED32);
    wsc_text_bytes(t, (const char *)&bits, sizeof bits);
}

/* ---- records --------------------------------------------------------------------------------- */

/* Length, its checksum, the event, its checksum, in one write: a reader that follows the file sees
 * whole records. */
static enum wsc_err write_record(struct out_events *e, const struct wsc_text *event)
{
    struct wsc_text record = {0};
    const uint64_t length = htole64(event->n);
    const uint32_t of_length = masked_crc(&length, sizeof length);
    const uint32_t of_event = masked_crc(event->bytes, event->n);
    wsc_text_bytes(&record, (const char *)&length, sizeof length);
    wsc_text_bytes(&record, (const char *)&of_length, sizeof of_length);
    wsc_text_bytes(&record, event->bytes, event->n);
    wsc_text_bytes(&record, (const char *)&of_event, sizeof of_event);
    enum wsc_err rc = wsc_text_check(&record);
    if (!rc) rc = out_append(e->fd, e->path, &record);
    wsc_text_free(&record);
    return rc;
}

/* The first record of every event file names the format. */
static enum wsc_err write_version(struct out_events *e)
{
    static const char version[] = "brain.Event:2";
    struct wsc_text event = {0};
    add_double(&event, 1, wsc_clock_epoch_s());
    add_bytes(&event, 3, version, sizeof version - 1);
    enum wsc_err rc = wsc_text_check(&event);
    if (!rc) rc = write_record(e, &event);
    wsc_text_free(&event);
    return rc;
}

/* Fields: wall_time 1, step 2, summary 5 with one value (tag 1, simple_value 2) for each scalar. */
enum wsc_err out_events_scalars(struct out_events *e, int64_t step, const struct out_scalar *scalar,
                                int n)
{
    struct wsc_text event = {0}, summary = {0};
    for (int i = 0; i < n; i++) {
        struct wsc_text value = {0};
        if (!isnan(scalar[i].value)) {
            add_bytes(&value, 1, scalar[i].tag, strlen(scalar[i].tag));
            add_float(&value, 2, (float)scalar[i].value);
            add_bytes(&summary, 1, value.bytes, value.n);
        }
        summary.failed |= value.failed;
        wsc_text_free(&value);
    }
    add_double(&event, 1, wsc_clock_epoch_s());
    add_key(&event, 2, VARINT);
    add_varint(&event, (uint64_t)step);
    add_bytes(&event, 5, summary.bytes ? summary.bytes : "", summary.n);
    event.failed |= summary.failed;
    enum wsc_err rc = wsc_text_check(&event);
    if (!rc && summary.n) rc = write_record(e, &event);
    wsc_text_free(&summary);
    wsc_text_free(&event);
    return rc;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Make the folder and a file with a name that no other has: O_EXCL and a counter, since two files
 * of one process may begin in the same second. */
static enum wsc_err begin(struct out_events *e, const char *dir)
{
    char host[64];
    TRY(wsc_file_mkdir(dir));
    out_host(host, sizeof host);
    for (int i = 0; i < 1000 && e->fd < 0; i++) { /* several of one process and second */
        wsc_free(e->path);
        TRY_MEM(e->path,
                wsc_asprintf(WSC_MEM_REPORT, "%s/events.out.tfevents.%010lld.%s.%ld.%d", dir,
                             (long long)wsc_clock_epoch_s(), host, (long)getpid(), i));
        e->fd = open(e->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (e->fd < 0 && errno != EEXIST) break;
    }
    if (e->fd < 0) return WSC_RAISE(WSC_IO, "%s: cannot be created: %s", e->path, strerror(errno));
    return write_version(e);
}

enum wsc_err out_events_open(struct out_events **out, const char *dir)
{
    struct out_events *e;
    *out = NULL;
    TRY_NEW(e, WSC_MEM_REPORT, 1);
    e->fd = -1;
    enum wsc_err rc = begin(e, dir);
    if (rc) out_events_close(&e);
    *out = e;
    return rc;
}

void out_events_close(struct out_events **events)
{
    struct out_events *e = *events;
    if (!e) return;
    if (e->fd >= 0) (void)close(e->fd);
    wsc_free(e->path);
    wsc_free(e);
    *events = NULL;
}
