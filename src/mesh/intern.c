// SPDX-License-Identifier: Apache-2.0
/* Keeps arrays once: a hash table with a list in each slot, under a lock. An array follows the
 * number of its users in memory. recording_order.c and recording_end.c
 * call. */
#include "intern.h"

#include <wsc/hash.h>
#include <wsc/mem.h>

#include <pthread.h>
#include <stdint.h>
#include <string.h>

struct kept {
    uint64_t hash;
    size_t size;
    int64_t users;
    struct kept *next;
    _Alignas(16) unsigned char bytes[];
};

enum { SLOTS = 1024 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept *slot[SLOTS];

static struct kept *find(uint64_t hash, const void *bytes, size_t size)
{
    for (struct kept *k = slot[hash % SLOTS]; k; k = k->next)
        if (k->hash == hash && k->size == size && (!size || !memcmp(k->bytes, bytes, size)))
            return k;
    return NULL;
}

static struct kept *add(uint64_t hash, const void *bytes, size_t size)
{
    struct kept *k = wsc_alloc_raw(WSC_MEM_MESH, sizeof *k + size, 1);
    if (!k) return NULL;
    *k = (struct kept){.hash = hash, .size = size, .next = slot[hash % SLOTS]};
    if (size) memcpy(k->bytes, bytes, size);
    slot[hash % SLOTS] = k;
    return k;
}

const void *mesh_intern(const void *bytes, size_t size)
{
    const uint64_t hash = wsc_hash64(bytes, size, 0);
    (void)pthread_mutex_lock(&lock);
    struct kept *k = find(hash, bytes, size);
    if (!k) k = add(hash, bytes, size);
    if (k) k->users++;
    (void)pthread_mutex_unlock(&lock);
    return k ? k->bytes : NULL;
}

void mesh_intern_release(const void *bytes)
{
    if (!bytes) return;
    struct kept *k = (struct kept *)((uintptr_t)bytes - offsetof(struct kept, bytes));
    (void)pthread_mutex_lock(&lock);
    if (!--k->users) {
        struct kept **at = &slot[k->hash % SLOTS];
        while (*at != k)
            at = &(*at)->next;
        *at = k->next;
        wsc_free(k);
    }
    (void)pthread_mutex_unlock(&lock);
}
