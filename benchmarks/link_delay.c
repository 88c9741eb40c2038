// SPDX-License-Identifier: Apache-2.0
/* Links with a delay between network namespaces, for kernels without the queueing discipline netem.
 *
 *   link_delay PID...
 *
 * Creates a TAP device eth0 in the network of each process; the MAC address of host i ends with
 * i + 1.  A frame goes to the host of its destination, a multicast frame to all others.  It is
 * delivered at max(arrival + delay, end of the frame before it), and takes bytes / rate; a frame
 * that would wait longer than MOST_WAIT for those before it is dropped, as tbf drops it.
 * A line of standard input, `NANOSECONDS BYTES_PER_SECOND` (0: no limit), sets delay and rate of
 * all links and is answered by `set`; the end of the input ends the program.  Frames keep
 * segmentation offload, so that a read takes up to 64 KiB.  benchmarks/hosts.py starts it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_HOSTS = 16,
    FRAME_BYTES = 1 << 17, /* the largest offloaded frame is 64 KiB and its headers */
    HEADER = sizeof(struct virtio_net_hdr),
    MOST_READS = 16, /* of one host before others have their turn */
    MAC_BYTES = 6
};
static const int64_t MOST_WAIT = 100000000; /* ns */

struct frame {
    struct frame *next;
    int64_t due; /* ns of CLOCK_MONOTONIC */
    size_t size;
    unsigned char bytes[]; /* virtio_net_hdr, Ethernet frame */
};

/* Frames on their way to one host, in the order of their delivery. */
struct link {
    int tap;
    int64_t free_at; /* ns, when the last bit of the last frame has been delivered */
    struct frame *first, **last;
};

static struct link links[MOST_HOSTS];
static int n_links;
static int64_t delay, rate;

static int64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The TAP device eth0 in the network of a process; ends the program where there is none. */
static int open_tap(const char *pid)
{
    char path[64];
    struct ifreq request = {.ifr_name = "eth0"};
    (void)snprintf(path, sizeof path, "/proc/%s/ns/net", pid);
    const int network = open(path, O_RDONLY | O_CLOEXEC);
    if (network < 0 || setns(network, 0)) {
        (void)fprintf(stderr, "link_delay: %s: %s\n", path, strerror(errno));
        exit(1);
    }
    (void)close(network);
    const int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
    if (tap < 0 || ioctl(tap, TUNSETIFF, &request) ||
        ioctl(tap, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6)) {
        (void)fprintf(stderr, "link_delay: /dev/net/tun: %s\n", strerror(errno));
        exit(1);
    }
    return tap;
}

static void send_later(struct link *to, const unsigned char *bytes, size_t size, int64_t now)
{
    int64_t due = now + delay;
    if (due < to->free_at) due = to->free_at;
    if (due - now - delay > MOST_WAIT) return;
    struct frame *frame = malloc(sizeof *frame + size);
    if (!frame) return; /* as lost as a frame that finds no room */
    *frame = (struct frame){.due = due, .size = size};
    memcpy(frame->bytes, bytes, size);
    to->free_at = due;
    if (rate) to->free_at += (int64_t)((double)(size - HEADER) * 1e9 / (double)rate);
    *to->last = frame;
    to->last = &frame->next;
}

/* Takes the frames that a host has sent. */
static void receive(int from)
{
    static unsigned char bytes[FRAME_BYTES];
    for (int i = 0; i < MOST_READS; i++) {
        const ssize_t got = read(links[from].tap, bytes, sizeof bytes);
        if (got < HEADER + MAC_BYTES) return;
        const int64_t now = now_ns();
        const unsigned char *mac = bytes + HEADER;
        const bool to_all = mac[0] & 1;
        for (int to = 0; to < n_links; to++)
            if (to != from && (to_all || mac[MAC_BYTES - 1] == to + 1))
                send_later(&links[to], bytes, (size_t)got, now);
    }
}

/* Delivers what is due; returns when the next frame of the link is, INT64_MAX without one. */
static int64_t deliver(struct link *to, int64_t now)
{
    while (to->first && to->first->due <= now) {
        struct frame *frame = to->first;
        /* A frame that the device refuses (it is down) is lost. */
        const ssize_t written = write(to->tap, frame->bytes, frame->size);
        (void)written;
        to->first = frame->next;
        if (!to->first) to->last = &to->first;
        free(frame);
    }
    return to->first ? to->first->due : INT64_MAX;
}

static bool read_settings(void)
{
    char line[64], *end;
    if (!fgets(line, sizeof line, stdin)) return false;
    delay = strtoll(line, &end, 10);
    rate = strtoll(end, NULL, 10);
    (void)puts("set");
    return true;
}

/* Waits for input, at most until a time of CLOCK_MONOTONIC (INT64_MAX: for ever). */
static bool wait_until(struct pollfd *fds, int64_t time)
{
    int64_t left = time - now_ns();
    if (left < 0) left = 0;
    const struct timespec timeout = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
    if (ppoll(fds, (nfds_t)n_links + 1, time < INT64_MAX ? &timeout : NULL, NULL) >= 0) return true;
    perror("link_delay");
    return false;
}

static void move_frames(void)
{
    struct pollfd fds[MOST_HOSTS + 1];
    for (int i = 0; i < n_links; i++)
        fds[i] = (struct pollfd){.fd = links[i].tap, .events = POLLIN};
    fds[n_links] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    for (;;) {
        int64_t next = INT64_MAX;
        const int64_t now = now_ns();
        for (int i = 0; i < n_links; i++) {
            const int64_t due = deliver(&links[i], now);
            if (due < next) next = due;
        }
        if (!wait_until(fds, next) || (fds[n_links].revents && !read_settings())) return;
        for (int i = 0; i < n_links; i++) {
            if (fds[i].revents & ~POLLIN) return; /* the host is gone */
            if (fds[i].revents) receive(i);
        }
    }
}

int main(int argc, char **argv)
{
    const struct sched_param first = {.sched_priority = 1};
    if (argc < 2 || argc > MOST_HOSTS + 1) {
        (void)fputs("usage: link_delay PID...   (at most 16)\n", stderr);
        return 2;
    }
    for (n_links = 0; n_links < argc - 1; n_links++) {
        links[n_links].tap = open_tap(argv[n_links + 1]);
        links[n_links].last = &links[n_links].first;
    }
    /* A delay must not grow because ranks compute: real links need no processor. */
    if (sched_setscheduler(0, SCHED_FIFO, &first))
        (void)fprintf(stderr, "link_delay: no real-time priority (%s): delays grow with the load\n",
                      strerror(errno));
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    (void)setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    (void)puts("ready");
    move_frames();
    return 0;
}
