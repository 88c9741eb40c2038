// SPDX-License-Identifier: Apache-2.0
/* Masks of a masked language model: how many tokens of a sample are masked, which, and by what they
 * are replaced (Devlin et al. 2019, 3.1), over many draws. */
#include "../../../src/data/mask_tokens.h"
#include "../../support/case_files.h"
#include "../../support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    PAD,
    UNK,
    CLS,
    SEP,
    MASK,
    FIRST,
    SPECIAL = 4,
    WORDS = 60,
    VOCABULARY = FIRST + WORDS,
    LONGEST = 64
};

static struct data_wordpiece *vocabulary(void)
{
    char text[1024] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    struct data_wordpiece *words = NULL;
    for (size_t i = 0, used = strlen(text); i < WORDS; i++, used = strlen(text))
        (void)snprintf(text + used, sizeof text - used, "%sw%d\n", i % 3 ? "" : "##", (int)i);
    const char *path = case_path("masked_vocab.txt");
    case_write(path, text);
    T_OK(data_wordpiece_open(&words, path, true));
    return words;
}

struct sample {
    int32_t ids[LONGEST], given[LONGEST], labels[LONGEST], mask[LONGEST], order[LONGEST];
};

/* [CLS] words [SEP], masked. */
static void draw(const struct data_cloze *c, int64_t n, struct sample *s)
{
    memset(s, 0, sizeof *s);
    for (int64_t i = 0; i < n; i++)
        s->ids[i] = i == 0 ? CLS : i == n - 1 ? SEP : (int32_t)(FIRST + (7 * i) % WORDS);
    memcpy(s->given, s->ids, sizeof s->ids);
    data_mask_tokens(c, n, s->ids, s->labels, s->mask, s->order);
}

static int64_t count(const int32_t *mask, int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += mask[i];
    return sum;
}

/* As Python's round(), which is that of IEEE 754: halves to the even number. */
TEST(mask_tokens, their_number_is_rounded_half_to_even)
{
    static const double share[] = {0.15, 0.5, 0.125, 0.25, 0.375};
    struct data_wordpiece *words = vocabulary();
    struct data_cloze c = {.words = words, .most = 18, .seed = 3};
    struct sample s;
    for (size_t k = 0; k < sizeof share / sizeof *share; k++)
        for (int64_t n = 3; n <= LONGEST; n++) {
            c.share = share[k];
            c.draw = (uint64_t)n;
            draw(&c, n, &s);
            const double wanted =
                fmin(fmin(fmax(nearbyint((double)n * c.share), 1), 18), (double)n - 2);
            T_EQ(count(s.mask, n), (int64_t)wanted);
        }
    data_wordpiece_close(&words);
}

enum { DRAWS = 4000, N = 42, MASKED = 8, ALL = DRAWS * MASKED };

/* What became of the masked tokens of all draws. */
struct tally {
    int64_t masks, kept, random;
    int64_t of_place[N], of_word[VOCABULARY];
};

static void add(const struct sample *s, struct tally *sum)
{
    T_EQ(count(s->mask, N), MASKED);
    for (int i = 0; i < N; i++) {
        const bool same = s->ids[i] == s->given[i];
        if (!s->mask[i] && !same) T_EQ(s->ids[i], s->given[i]);
        if (!s->mask[i]) continue;
        if (s->labels[i] != s->given[i]) T_EQ(s->labels[i], s->given[i]);
        const bool random = !same && s->ids[i] != MASK;
        sum->of_place[i]++;
        sum->masks += s->ids[i] == MASK;
        sum->kept += same;
        sum->random += random;
        if (random) sum->of_word[s->ids[i]]++;
    }
}

/* Within five standard deviations of a binomial number. */
static void check_share(int64_t n, int64_t all, double share)
{
    T_NEAR((double)n / (double)all, share, 5 * sqrt(share * (1 - share) / (double)all));
}

/* Labels are what stood there; special tokens are never masked, and never take a place. */
TEST(mask_tokens, replacements_have_the_shares_of_the_paper)
{
    struct data_wordpiece *words = vocabulary();
    struct data_cloze c = {.words = words, .share = 0.2, .most = 20, .seed = 11};
    const double equal =
        1.0 / (VOCABULARY - SPECIAL); /* of random tokens, and they may be the one that was */
    struct tally sum = {0};
    struct sample s;
    for (c.draw = 0; c.draw < DRAWS; c.draw++) {
        draw(&c, N, &s);
        add(&s, &sum);
    }
    check_share(sum.masks, ALL, 0.8);
    check_share(sum.random, ALL, 0.1 - 0.1 * equal);
    check_share(sum.kept, ALL, 0.1 + 0.1 * equal);
    T_EQ(sum.of_place[0] + sum.of_place[N - 1], 0);
    for (int i = 1; i < N - 1; i++)
        check_share(sum.of_place[i], DRAWS, 0.2);
    T_EQ(sum.of_word[PAD] + sum.of_word[CLS] + sum.of_word[SEP] + sum.of_word[MASK], 0);
    check_share(sum.of_word[UNK], sum.random, equal);
    for (int w = FIRST; w < VOCABULARY; w++)
        check_share(sum.of_word[w], sum.random, equal);
    data_wordpiece_close(&words);
}
