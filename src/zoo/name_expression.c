// SPDX-License-Identifier: Apache-2.0
/* Translates regular expressions of Python's re into POSIX extended ones. Most of the syntax is
 * common. Different are: classes such as \d, and the anchors \A and \Z; escapes inside brackets,
 * where POSIX has none; lazy repetitions such as *?, which find a match where the greedy ones do;
 * and groups (?:...). A bracket is read into a set of ASCII characters, which is written in the
 * order that POSIX asks for. Repetition counts and back-references are refused, because their cost
 * is not bounded by the length, and so is everything else that POSIX would understand in another
 * way. name_patterns.c calls. */
#include "name_expression.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define COSTLY                                                                                     \
    "repetition counts and back-references are not supported; hint: write the part as often as "   \
    "it occurs, or .*"
#define INVALID "not a regular expression; hint: .*linear_layer.weight"
#define ESCAPE                                                                                     \
    "\\ with this character is not supported; hint: \\d \\D \\w \\W \\s \\S \\b \\B \\A \\Z, or "  \
    "\\ before punctuation"
#define GROUP "(?...) is not supported; hint: (...) or (?:...)"

enum { N_ASCII = 128 };

struct translation {
    const char *at; /* rest of the expression */
    char *out;
    int n, depth;        /* bytes written; open groups */
    bool repeatable;     /* a repetition may follow */
    const char *problem; /* NULL: none so far */
};

static void put(struct translation *t, const char *text)
{
    const size_t n = strlen(text);
    if ((size_t)t->n + n >= ZOO_EXPRESSION_BYTES) {
        t->problem = INVALID;
        return;
    }
    memcpy(t->out + t->n, text, n + 1);
    t->n += (int)n;
}

static void put_char(struct translation *t, char c)
{
    put(t, (char[2]){c, 0});
}

/* Write an element of the expression; @p repeatable: it is not an anchor. */
static void put_item(struct translation *t, const char *text, bool repeatable)
{
    put(t, text);
    t->repeatable = repeatable;
}

/* ---- brackets -------------------------------------------------------------------------------- */

/* Is @p c in the class \d, \w or \s? */
static bool is_in_class(char class, int c)
{
    if (class == 'd') return isdigit(c) != 0;
    return class == 'w' ? isalnum(c) || c == '_' : isspace(c) != 0;
}

/* Add the class \@p letter to the set; capital letters are complements. */
static void add_class(bool set[N_ASCII], char letter)
{
    const char class = (char)tolower((unsigned char)letter);
    for (int c = 1; c < N_ASCII; c++)
        if (is_in_class(class, c) == (class == letter)) set[c] = true;
}

/* Take one character of a bracket; 0 for a class, whose letter is *@p class. */
static int take_character(struct translation *t, char *class)
{
    int c = (unsigned char)*t->at++;
    *class = 0;
    if (c == '\\') {
        c = (unsigned char)*t->at++;
        if (c && strchr("dDwWsS", c)) *class = (char)c;
        if (!*class && isalnum(c)) t->problem = ESCAPE;
    }
    if (!c || c >= N_ASCII) t->problem = INVALID;
    return *class ? 0 : c;
}

/* Take a character, a class or a range of a bracket into the set. */
static void take_member(struct translation *t, bool set[N_ASCII])
{
    char class, other = 0;
    const int first = take_character(t, &class);
    int last = first;
    if (t->problem) return;
    if (t->at[0] == '-' && t->at[1] && t->at[1] != ']') {
        t->at++;
        last = take_character(t, &other);
        if (class || other || last < first) t->problem = INVALID;
    }
    if (t->problem) return;
    if (class) add_class(set, class);
    for (int c = first; c <= last && c; c++)
        set[c] = true;
}

/* A character that has a meaning of its own in brackets of POSIX, by its place. */
static bool is_special(int c)
{
    return c == ']' || c == '[' || c == '^' || c == '-';
}

/* Write the characters that mean themselves at any place, three or more neighbours as a range. */
static void put_ordinary(struct translation *t, const bool set[N_ASCII])
{
    for (int c = 1, end; c < N_ASCII; c = end + 1) {
        for (end = c; end < N_ASCII && set[end] && !is_special(end); end++)
            continue;
        if (end > c) put_char(t, (char)c);
        if (end > c + 2) put_char(t, '-');
        if (end > c + 1) put_char(t, (char)(end - 1));
    }
}

/* POSIX: ] is first, ^ not first, - last, and [ not before a dot, colon or equals sign. */
static void put_bracket(struct translation *t, const bool set[N_ASCII], bool others)
{
    int n = 0;
    for (int c = 1; c < N_ASCII; c++)
        n += set[c];
    if (n == 1 && set['^'] && !others) {
        put(t, "\\^");
        return;
    }
    const bool dash_first = n == 2 && set['^'] && set['-'] && !others;
    put(t, others ? "[^" : "[");
    if (dash_first) put(t, "-");
    if (set[']']) put(t, "]");
    put_ordinary(t, set);
    if (set['[']) put(t, "[");
    if (set['^']) put(t, "^");
    if (set['-'] && !dash_first) put(t, "-");
    put(t, "]");
}

static void take_bracket(struct translation *t)
{
    bool set[N_ASCII] = {false};
    const bool others = *t->at == '^';
    if (others) t->at++;
    do
        take_member(t, set);
    while (!t->problem && *t->at != ']');
    if (t->problem) return;
    t->at++;
    put_bracket(t, set, others);
    t->repeatable = true;
}

/* ---- other elements -------------------------------------------------------------------------- */

static void take_escape(struct translation *t)
{
    const char c = *t->at, escaped[] = {'\\', c, 0};
    if (c) t->at++;
    if (!c)
        t->problem = INVALID;
    else if (isdigit((unsigned char)c))
        t->problem = COSTLY;
    else if (c == 'd' || c == 'D')
        put_item(t, c == 'd' ? "[0-9]" : "[^0-9]", true);
    else if (c == 'A' || c == 'Z')
        put_item(t, c == 'A' ? "^" : "$", false);
    else if (c == 'b' || c == 'B')
        put_item(t, escaped, false);
    else if (strchr("wWsS", c))
        put_item(t, escaped, true);
    else if (isalpha((unsigned char)c))
        t->problem = ESCAPE;
    else
        put_item(t, strchr("^.[$()|*+?\\", c) ? escaped : escaped + 1, true);
}

/* A lazy repetition loses its question mark: whether a name matches does not depend on it. */
static void take_repetition(struct translation *t, char c)
{
    if (!t->repeatable) t->problem = INVALID;
    if (*t->at == '?')
        t->at++;
    else if (*t->at == '+')
        t->problem = INVALID; /* possessive since Python 3.11, an error before */
    put_char(t, c);
    t->repeatable = false;
}

static void take_group(struct translation *t)
{
    if (t->at[0] == '?' && t->at[1] != ':') t->problem = GROUP;
    if (t->at[0] == '?' && !t->problem) t->at += 2;
    t->depth++;
    put_item(t, "(", false);
}

const char *zoo_expression_translate(const char *python, char out[ZOO_EXPRESSION_BYTES])
{
    struct translation t = {.at = python, .out = out};
    *out = 0;
    while (!t.problem && *t.at) {
        const char c = *t.at++;
        if (c == '\\') {
            take_escape(&t);
        } else if (c == '[') {
            take_bracket(&t);
        } else if (c == '*' || c == '+' || c == '?') {
            take_repetition(&t, c);
        } else if (c == '{') {
            t.problem = COSTLY;
        } else if (c == '(') {
            take_group(&t);
        } else {
            if (c == ')' && --t.depth < 0) t.problem = INVALID;
            put_item(&t, (char[2]){c, 0}, !strchr("^$|", c));
        }
    }
    return t.problem;
}
