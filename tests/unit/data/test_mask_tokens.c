// SPDX-License-Identifier: Apache-2.0
/* Masks of a masked language model: how many tokens of a sample are masked, which, and by what they
 * are replaced (Devlin et al. 2019, 3.1), over many draws. */
#include "../../../src/data/mask_tokens.h"
#include "../../support/case_files.h"
#include "../../support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PAD, UNK, CLS, SEP, MASK, FIRST, WORDS = 60, VOCABULARY = FIRST + WORDS, LONGEST = 64 };

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

/* Labels are what stood there; special tokens are never masked, and never take a place. */
TEST(mask_tokens, replacements_have_the_shares_of_the_paper)
{
    enum { DRAWS = 4000, N = 42, MASKED = 8 };
    struct data_wordpiece *words = vocabulary();
    struct data_cloze c = {.words = words, .share = 0.2, .most = 20, .seed = 11};
    int64_t of_place[N] = {0}, of_word[VOCABULARY] = {0}, masks = 0, kept = 0, random = 0;
    struct sample s;
    for (c.draw = 0; c.draw < DRAWS; c.draw++) {
        draw(&c, N, &s);
        T_EQ(count(s.mask, N), MASKED);
        for (int i = 0; i < N; i++) {
            if (!s.mask[i]) {
                if (s.ids[i] != s.given[i]) T_EQ(s.ids[i], s.given[i]);
                continue;
            }
            if (s.labels[i] != s.given[i]) T_EQ(s.labels[i], s.given[i]);
            of_place[i]++;
            masks += s.ids[i] == MASK;
            kept += s.ids[i] == s.given[i];
            random += s.ids[i] != MASK && s.ids[i] != s.given[i];
            if (s.ids[i] != MASK && s.ids[i] != s.given[i]) of_word[s.ids[i]]++;
        }
    }
    /* five standard deviations of binomial numbers */
    const double all = (double)DRAWS * MASKED;
    T_NEAR((double)masks / all, 0.8, 5 * sqrt(0.16 / all));
    T_NEAR((double)random / all, 0.1, 5 * sqrt(0.09 / all) + 0.1 / VOCABULARY);
    T_NEAR((double)kept / all, 0.1, 5 * sqrt(0.09 / all) + 0.1 / VOCABULARY);
    T_EQ(of_place[0] + of_place[N - 1], 0);
    for (int i = 1; i < N - 1; i++)
        T_NEAR((double)of_place[i] / DRAWS, 0.2, 5 * sqrt(0.16 / DRAWS));
    T_EQ(of_word[PAD] + of_word[CLS] + of_word[SEP] + of_word[MASK], 0);
    for (int w = FIRST + 1; w < VOCABULARY; w++)
        T_NEAR((double)of_word[w] / (double)random, 1.0 / VOCABULARY,
               5 * sqrt(0.016 / (double)random));
    data_wordpiece_close(&words);
}
