// SPDX-License-Identifier: Apache-2.0
/* Words nobody has written are 0, so that shelves of processes can be put together by "or". */
#include "shelf.h"

#include <wsc/check.h>
#include <wsc/err.h>

#include <stdlib.h>
#include <string.h>

static enum wsc_err begin(void *ctx, int64_t cycles, const struct mesh_array *array, int n)
{
    struct shelf *s = ctx;
    WSC_CHECK(n == SHELF_ARRAYS, "%d arrays", n);
    if (s->n == s->capacity) {
        s->capacity = s->capacity ? 2 * s->capacity : 4;
        s->shot = realloc(s->shot, (size_t)s->capacity * sizeof *s->shot);
        WSC_CHECK(s->shot, "no memory");
    }
    struct shelf_shot *shot = &s->shot[s->n++];
    shot->cycles = cycles;
    for (int i = 0; i < n; i++) {
        shot->array[i] = array[i];
        shot->word[i] = calloc((size_t)array[i].n, sizeof *shot->word[i]);
    }
    return WSC_OK;
}

static int64_t *find(const struct shelf_shot *shot, const char *name, int64_t *n)
{
    for (int i = 0; i < SHELF_ARRAYS; i++) {
        if (strcmp(shot->array[i].name, name) != 0) continue;
        *n = shot->array[i].n;
        return shot->word[i];
    }
    *n = 0;
    return NULL;
}

static enum wsc_err write(void *ctx, const char *name, int64_t first, int64_t n,
                          const int64_t *word)
{
    const struct shelf *s = ctx;
    int64_t most;
    int64_t *to = find(&s->shot[s->n - 1], name, &most);
    WSC_CHECK(to && first >= 0 && n >= 0 && n <= most - first, "%s: %lld words at %lld of %lld",
              name, (long long)n, (long long)first, (long long)most);
    if (n) memcpy(to + first, word, (size_t)n * sizeof *word);
    return WSC_OK;
}

static enum wsc_err end(void *ctx, enum wsc_err rc)
{
    (void)ctx;
    return rc;
}

static enum wsc_err size(void *ctx, const char *name, int64_t *n)
{
    const struct shelf *s = ctx;
    (void)find(s->from, name, n);
    return WSC_OK;
}

static enum wsc_err read(void *ctx, const char *name, int64_t first, int64_t n, int64_t *word)
{
    const struct shelf *s = ctx;
    int64_t most;
    const int64_t *from = find(s->from, name, &most);
    if (!from || first < 0 || n < 0 || n > most - first)
        return WSC_RAISE(WSC_FORMAT, "%s: %lld words at %lld of %lld", name, (long long)n,
                         (long long)first, (long long)most);
    if (n) memcpy(word, from + first, (size_t)n * sizeof *word);
    return WSC_OK;
}

struct mesh_archive shelf_archive(struct shelf *s)
{
    return (struct mesh_archive){s, begin, write, end, size, read};
}

void shelf_merge(struct shelf *to, const struct shelf *from)
{
    WSC_CHECK(to->n == from->n, "%d and %d snapshots", to->n, from->n);
    for (int k = 0; k < to->n; k++)
        for (int i = 0; i < SHELF_ARRAYS; i++) {
            WSC_CHECK(to->shot[k].array[i].n == from->shot[k].array[i].n, "other sizes");
            for (int64_t j = 0; j < to->shot[k].array[i].n; j++)
                to->shot[k].word[i][j] |= from->shot[k].word[i][j];
        }
}

void shelf_free(struct shelf *s)
{
    for (int k = 0; k < s->n; k++)
        for (int i = 0; i < SHELF_ARRAYS; i++)
            free(s->shot[k].word[i]);
    free(s->shot);
    *s = (struct shelf){0};
}
