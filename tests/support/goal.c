// SPDX-License-Identifier: Apache-2.0
#include "goal.h"

#include <wsc/hash.h>
#include <wsc/mem.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CPUS = 256, LINE_BYTES = 256, LABEL_BYTES = 32, WORDS = 12 };
enum kind { CALC, SEND, RECV };

struct op {
    enum kind kind;
    int32_t rank, cpu, peer;
    int64_t size, tag;
    int32_t n_waits;    /* requirements that have not ended */
    int32_t first_next; /* list of those that require this one, in `need` */
    int64_t ready, end; /* end -1: not yet */
    bool started;
};
struct need {
    int32_t op, next;
};
struct label {
    char text[LABEL_BYTES];
    int32_t rank, op;
};
struct schedule {
    struct op *op;
    struct need *need;
    struct label *label; /* open addressing */
    int32_t *partner;    /* by tag: the send, then the recv */
    int64_t *cpu_free;   /* ranks x cpus */
    int32_t *heap;
    int64_t n_ops, n_needs, size, n_heap, n_ranks;
    int32_t rank; /* being read */
    int line;
    struct goal_result *out;
};

static enum wsc_err bad(const struct schedule *s, const char *what)
{
    return WSC_RAISE(WSC_FORMAT, "line %d: %s", s->line, what);
}

/* ---- reading --------------------------------------------------------------------------------- */

static struct label *find_label(struct schedule *s, const char *text)
{
    const uint64_t mask = (uint64_t)(2 * s->size - 1);
    uint64_t at = wsc_hash64(text, strlen(text), (uint64_t)s->rank) & mask;
    while (s->label[at].text[0] &&
           (s->label[at].rank != s->rank || strcmp(s->label[at].text, text) != 0))
        at = (at + 1) & mask;
    return &s->label[at];
}

static bool number(const char *text, int64_t *out)
{
    char *end = NULL;
    if (!text) return false;
    *out = strtoll(text, &end, 10);
    return end != text && (!*end || !strcmp(end, "b"));
}

/* The number after @p key, or @p fallback. */
static bool option(char *const *word, int n, const char *key, int64_t *out)
{
    for (int i = 0; i + 1 < n; i++)
        if (!strcmp(word[i], key)) return number(word[i + 1], out);
    return false;
}

static enum wsc_err add_op(struct schedule *s, const char *label, char *const *word, int n)
{
    struct op *o = &s->op[s->n_ops];
    int64_t peer = 0, cpu = 0;
    *o = (struct op){.rank = s->rank, .first_next = -1, .end = -1};
    if (n < 2 || !number(word[1], &o->size)) return bad(s, "a size is missing");
    o->kind = !strcmp(word[0], "calc") ? CALC : !strcmp(word[0], "send") ? SEND : RECV;
    (void)option(word, n, "cpu", &cpu);
    if (cpu < 0 || cpu >= MAX_CPUS) return bad(s, "no such cpu");
    o->cpu = (int32_t)cpu;
    if (o->kind != CALC) {
        const bool send = o->kind == SEND;
        if (!option(word, n, send ? "to" : "from", &peer) || !option(word, n, "tag", &o->tag))
            return bad(s, "a message without a partner or a tag");
        if (peer < 0 || peer >= s->n_ranks || o->tag < 0 || o->tag >= s->size)
            return bad(s, "no such rank or tag");
        o->peer = (int32_t)peer;
        int32_t *slot = &s->partner[2 * o->tag + !send];
        if (*slot >= 0) return bad(s, "a tag is used twice");
        *slot = (int32_t)s->n_ops;
        s->out->n_messages += send;
    }
    struct label *l = find_label(s, label);
    if (l->text[0]) return bad(s, "a label is defined twice");
    (void)snprintf(l->text, sizeof l->text, "%s", label);
    l->rank = s->rank;
    l->op = (int32_t)s->n_ops++;
    return WSC_OK;
}

static enum wsc_err add_need(struct schedule *s, const char *who, const char *what)
{
    const struct label *a = find_label(s, who), *b = find_label(s, what);
    if (!a->text[0] || !b->text[0]) return bad(s, "a label that is not defined");
    s->need[s->n_needs] = (struct need){a->op, s->op[b->op].first_next};
    s->op[b->op].first_next = (int32_t)s->n_needs++;
    s->op[a->op].n_waits++;
    return WSC_OK;
}

static int split(char *line, char **word)
{
    int n = 0;
    for (char *c = line; *c && n < WORDS;) {
        c += strspn(c, " \t\r\n");
        if (!*c) break;
        word[n++] = c;
        c += strcspn(c, " \t\r\n");
        if (*c) *c++ = '\0';
    }
    return n;
}

static enum wsc_err take_comment(struct schedule *s, char **word, int n)
{
    for (int i = 0; i + 2 < n; i++)
        if (!strcmp(word[i], "begins") && number(word[i + 2], &s->out->begin)) return WSC_OK;
    return WSC_OK;
}

static enum wsc_err set_ranks(struct schedule *s, int64_t n)
{
    if (n < 1 || s->n_ranks) return bad(s, "num_ranks");
    s->n_ranks = s->out->n_ranks = n;
    TRY_NEW(s->cpu_free, WSC_MEM_TEST, n * MAX_CPUS);
    return WSC_OK;
}

static enum wsc_err take_line(struct schedule *s, char *line)
{
    char *word[WORDS];
    int64_t value;
    const int n = split(line, word);
    if (!n) return WSC_OK;
    if (!strncmp(word[0], "//", 2)) return take_comment(s, word, n);
    if (n == 2 && !strcmp(word[0], "num_ranks") && number(word[1], &value))
        return set_ranks(s, value);
    if (n == 3 && !strcmp(word[0], "rank") && number(word[1], &value) && !strcmp(word[2], "{")) {
        if (s->rank >= 0 || value < 0 || value >= s->n_ranks) return bad(s, "rank");
        s->rank = (int32_t)value;
        return WSC_OK;
    }
    if (s->rank < 0) return bad(s, "outside of a rank");
    if (n == 1 && !strcmp(word[0], "}")) {
        s->rank = -1;
        return WSC_OK;
    }
    if (n == 3 && !strcmp(word[1], "requires")) return add_need(s, word[0], word[2]);
    char *colon = strchr(word[0], ':');
    if (!colon || colon[1] || colon - word[0] >= LABEL_BYTES) return bad(s, "no label");
    *colon = '\0';
    static const char *const known[] = {"calc", "send", "recv"};
    for (int i = 0; i < 3 && n > 1; i++)
        if (!strcmp(word[1], known[i])) return add_op(s, word[0], word + 1, n - 1);
    return bad(s, "no such operation");
}

/* ---- running --------------------------------------------------------------------------------- */

static bool before(const struct schedule *s, int32_t a, int32_t b)
{
    return s->op[a].ready != s->op[b].ready ? s->op[a].ready < s->op[b].ready : a < b;
}

static void push(struct schedule *s, int32_t op)
{
    int64_t i = s->n_heap++;
    for (; i && before(s, op, s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = op;
}

static int32_t pop(struct schedule *s)
{
    const int32_t top = s->heap[0], last = s->heap[--s->n_heap];
    int64_t i = 0;
    for (int64_t child = 1; child < s->n_heap; child = 2 * i + 1) {
        if (child + 1 < s->n_heap && before(s, s->heap[child + 1], s->heap[child])) child++;
        if (!before(s, s->heap[child], last)) break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return top;
}

static void end_op(struct schedule *s, int32_t op, int64_t at)
{
    struct op *o = &s->op[op];
    o->end = at;
    if (at > s->out->makespan) s->out->makespan = at;
    for (int32_t k = o->first_next; k >= 0; k = s->need[k].next) {
        struct op *next = &s->op[s->need[k].op];
        if (at > next->ready) next->ready = at;
        if (--next->n_waits == 0) push(s, s->need[k].op);
    }
}

static void start_op(struct schedule *s, int32_t op)
{
    struct op *o = &s->op[op];
    const int32_t *pair = &s->partner[2 * o->tag];
    int64_t *cpu = &s->cpu_free[o->rank * MAX_CPUS + o->cpu];
    if (o->kind == CALC && o->size && *cpu > o->ready) {
        o->ready = *cpu; /* try again when the cpu is idle */
        s->out->n_delayed++;
        push(s, op);
        return;
    }
    o->started = true;
    if (o->kind == CALC) {
        if (o->size) *cpu = o->ready + o->size;
        end_op(s, op, o->ready + o->size);
    } else if (o->kind == SEND) {
        end_op(s, op, o->ready);
        if (s->op[pair[1]].started) end_op(s, pair[1], o->ready);
    } else if (s->op[pair[0]].end >= 0) {
        end_op(s, op, o->ready);
    }
}

static enum wsc_err run(struct schedule *s)
{
    for (int64_t tag = 0; tag < s->size; tag++) {
        const int32_t a = s->partner[2 * tag], b = s->partner[2 * tag + 1];
        if (a < 0 && b < 0) continue;
        if (a < 0 || b < 0 || s->op[a].peer != s->op[b].rank || s->op[b].peer != s->op[a].rank)
            return WSC_RAISE(WSC_FORMAT, "tag %lld has no pair", (long long)tag);
    }
    for (int32_t i = 0; i < s->n_ops; i++)
        if (!s->op[i].n_waits) push(s, i);
    while (s->n_heap)
        start_op(s, pop(s));
    for (int64_t i = 0; i < s->n_ops; i++)
        if (s->op[i].end < 0)
            return WSC_RAISE(WSC_FORMAT, "operation %lld never runs", (long long)i);
    return WSC_OK;
}

/* ---- both ------------------------------------------------------------------------------------ */

static enum wsc_err read_file(struct schedule *s, FILE *file)
{
    char line[LINE_BYTES];
    s->rank = -1;
    while (fgets(line, sizeof line, file)) {
        s->line++;
        TRY(take_line(s, line));
    }
    s->out->n_operations = s->n_ops;
    return s->rank < 0 ? WSC_OK : bad(s, "a rank does not end");
}

static int64_t count_lines(FILE *file)
{
    char line[LINE_BYTES];
    int64_t n = 1;
    while (fgets(line, sizeof line, file))
        n++;
    rewind(file);
    return n;
}

static enum wsc_err allocate(struct schedule *s, int64_t lines)
{
    s->size = 16; /* a power of two: no more labels, tags or requirements than lines */
    while (s->size < lines)
        s->size *= 2;
    TRY_NEW(s->op, WSC_MEM_TEST, s->size);
    TRY_NEW(s->need, WSC_MEM_TEST, s->size);
    TRY_NEW(s->label, WSC_MEM_TEST, 2 * s->size);
    TRY_NEW(s->partner, WSC_MEM_TEST, 2 * s->size);
    TRY_NEW(s->heap, WSC_MEM_TEST, s->size);
    for (int64_t i = 0; i < 2 * s->size; i++)
        s->partner[i] = -1;
    return WSC_OK;
}

enum wsc_err goal_run(const char *path, struct goal_result *out)
{
    struct schedule s = {.out = out};
    *out = (struct goal_result){0};
    FILE *file = fopen(path, "r");
    if (!file) return WSC_RAISE(WSC_IO, "%s: cannot be opened", path);
    enum wsc_err rc = allocate(&s, count_lines(file));
    if (!rc) rc = read_file(&s, file);
    if (!rc) rc = run(&s);
    (void)fclose(file);
    void *const owned[] = {s.op, s.need, s.label, s.partner, s.heap, s.cpu_free};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        wsc_free(owned[i]);
    return rc;
}
