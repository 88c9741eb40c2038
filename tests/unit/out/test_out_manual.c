// SPDX-License-Identifier: Apache-2.0
/* Manual pages: nothing that a text contains is taken for a request of roff. */
#include "../../support/test.h"

#include <wsc/mem.h>
#include <wsc/out.h>

#include <stdio.h>
#include <string.h>

static void expect(struct wsc_text *t, const char *expected)
{
    char *text;
    T_OK(wsc_text_take(t, &text));
    T_STR(text, expected);
    wsc_free(text);
}

TEST(out_manual, control_characters_are_escaped)
{
    struct wsc_text t = {0};
    out_manual_paragraph(&t, ".so x 'y' a\\b `--set` [DOC.md](DOC.md) **strong**.");
    expect(&t, ".PP\n\\&.so x \\(aqy\\(aq a\\eb \\fB\\-\\-set\\fR DOC.md \\fBstrong\\fR.\n");
    out_manual_lines(&t, "wsc run `x`\n.TH\n\n'a");
    expect(&t, ".PP\n.EX\nwsc run \\(gax\\(ga\n\\&.TH\n\n\\&\\(aqa\n.EE\n");
    out_manual_item(&t, "--fit", "A-B", "what");
    expect(&t, ".TP\n\\fB\\-\\-fit\\fR \\fIA\\-B\\fR\nwhat\n");
}

TEST(out_manual, a_heading_begins_the_paragraph)
{
    struct wsc_text t = {0};
    out_manual_heading(&t, 1, "see also");
    out_manual_paragraph(&t, "a");
    out_manual_paragraph(&t, "b");
    expect(&t, ".SH SEE ALSO\na\n.PP\nb\n");
}

TEST(out_manual, rows_of_tables_are_items)
{
    struct wsc_text t = {0};
    out_manual_markdown(&t, "### Keys\n\n| key | unit | meaning |\n|---|---|---|\n"
                            "| `a.b` | s | how long |\n| | | none |\n");
    expect(&t, ".SS Keys\n.TP\n\\fBa.b\\fR\nhow long. Unit: s.\n.TP\nnone\nnone.\n");
}

/* Lines of at most 80 bytes, whatever the words are; a tag is one line for roff. */
TEST(out_manual, lines_are_short)
{
    char words[2000] = "", row[2200];
    struct wsc_text t = {0};
    for (int i = 0; i < 90; i++)
        (void)snprintf(words + strlen(words), sizeof words - strlen(words), "--`%.*s` ", i % 17,
                       "~~~~~~~~~~~~~~~~~");
    out_manual_paragraph(&t, words);
    words[900] = '\0';
    (void)snprintf(row, sizeof row, "| key | m |\n|---|---|\n| %s | x |\n", words);
    out_manual_markdown(&t, row);
    char *text;
    T_OK(wsc_text_take(&t, &text));
    int n_long = 0;
    for (char *rest = text, *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
        n_long += strlen(line) > 80;
    T_EQ(n_long, 0);
    wsc_free(text);
}
