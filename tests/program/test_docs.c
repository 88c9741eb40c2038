// SPDX-License-Identifier: Apache-2.0
/* Tests of the documentation.  Every line of a ```sh block that runs build/wsc, alone or under
 * mpirun, is given to the program with --help after it, so that its options are read and nothing is
 * done; a `run` whose params are in the tree is validated as well.  A line that runs make names
 * targets of the Makefile, one that runs a script a file that exists.  A line `# test: skip`,
 * before a block or in it, leaves out the rest of that block.
 * Generated pages (docs/CONFIG.md, the layers in docs/ARCHITECTURE.md, the table of docs/FAULTS.md)
 * are compared with a fresh copy.  Links and paths are checked by `make lint`
 * (tests/lint/docs.awk). */
#include "../support/test.h"
#include "spawn.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COMMAND_BYTES = 4096 };

static int n_commands;

/* ---- a command line -------------------------------------------------------------------------- */

/* Where the program's own words begin: after the last build/wsc outside of $( ), NULL if none. */
static char *program_words(char *line)
{
    char *found = NULL;
    int depth = 0;
    for (char *at = line; *at; at++) {
        if (!strncmp(at, "$(", 2)) depth++;
        if (*at == ')' && depth) depth--;
        if (!depth && !strncmp(at, "build/wsc", 9) && strchr(" \t", at[9]) && at[9]) found = at + 9;
    }
    return found;
}

/* Cut at the first pipe, redirection or comment, which are not the program's. */
static void cut_at_shell(char *words)
{
    char quote = 0;
    for (char *at = words; *at; at++) {
        if (quote) {
            if (*at == quote) quote = 0;
            continue;
        }
        if (*at == '\'' || *at == '"') quote = *at;
        const bool comment = *at == '#' && at > words && at[-1] == ' ';
        if (!strchr("|>;&", *at) && !comment) continue;
        *at = '\0';
        return;
    }
}

static bool params_exist(const char *words)
{
    char path[512];
    const char *at = strstr(words, "--params ");
    if (!at) return false;
    at += strlen("--params ");
    (void)snprintf(path, sizeof path, "%.*s", (int)strcspn(at, " \t"), at);
    return !access(path, R_OK);
}

/* True when the command does not run anything by itself. */
static bool is_dry(const char *words)
{
    return strstr(words, "--validate_only") || strstr(words, "--compile_only") ||
           strstr(words, "--dump_params") || strstr(words, "--print_placement");
}

/* Removes option @p name with its value, which a run that takes no step refuses. */
static void drop_option(char *words, const char *name)
{
    char *at = strstr(words, name);
    if (!at) return;
    const char *rest = at + strlen(name);
    rest += strspn(rest, " ");
    rest += strcspn(rest, " ");
    memmove(at, rest, strlen(rest) + 1);
}

static bool program_accepts(char *words)
{
    cut_at_shell(words);
    bool ok = spawn_ok("\"$WSC\" %s --help", words);
    drop_option(words, "--trace");
    drop_option(words, "--goal");
    if (!strncmp(words, " run ", 5) && params_exist(words))
        ok = spawn_ok("\"$WSC\" %s %s", words, is_dry(words) ? "" : "--validate_only") && ok;
    return ok;
}

static bool is_target(const char *word)
{
    char *line = NULL;
    size_t size = 0;
    bool found = false;
    FILE *f = fopen("Makefile", "r");
    const size_t n = strlen(word);
    while (f && !found && getline(&line, &size, f) > 0)
        found = !strncmp(line, word, n) && line[n] == ':';
    free(line);
    if (f) (void)fclose(f);
    return found;
}

/* Whether every word of a make command that is no variable names a target of the Makefile. */
static bool targets_exist(char *words)
{
    bool ok = true, quoted = false;
    for (char *at = words; *at; at++) {
        if (*at == '"') quoted = !quoted;
        if (quoted && *at == ' ') *at = '_';
    }
    cut_at_shell(words);
    for (char *rest = words, *word = strsep(&rest, " \t"); word; word = strsep(&rest, " \t"))
        if (*word && !strchr(word, '=')) ok = is_target(word) && ok;
    return ok;
}

/* Whether the script that a command runs exists: `sh FILE ...` or `mpi_launch/NAME.sh ...`. */
static bool script_exists(const char *words)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%.*s", (int)strcspn(words, " \t"), words);
    return !access(path, R_OK);
}

static void check_command(const char *file, int line_number, char *line)
{
    char shown[COMMAND_BYTES];
    char *at = line + strspn(line, " \t");
    char *words = program_words(line);
    bool ok;
    (void)snprintf(shown, sizeof shown, "%s", line);
    if (words)
        ok = program_accepts(words);
    else if (!strncmp(at, "make", 4) && (!at[4] || at[4] == ' '))
        ok = targets_exist(at + 4);
    else if (!strncmp(at, "sh ", 3))
        ok = script_exists(at + 3);
    else if (!strncmp(at, "mpi_launch/", 11))
        ok = script_exists(at);
    else
        return;
    n_commands++;
    if (!ok) (void)fprintf(stderr, "%s:%d: %s\n", file, line_number, shown);
    CU_ASSERT(ok);
}

/* ---- a file of documentation ----------------------------------------------------------------- */

struct reader {
    const char *file;
    int line_number;
    bool in_block, skip, skip_next;
    char command[COMMAND_BYTES]; /* with continued lines joined */
};

static bool begins(const char *line, const char *with)
{
    return !strncmp(line + strspn(line, " \t"), with, strlen(with));
}

/* Prose, or the fence of a block. */
static void take_outside(struct reader *r, const char *line)
{
    if (strstr(line, "test: skip")) {
        r->skip_next = true;
    } else if (begins(line, "```")) {
        r->in_block = true;
        r->skip = r->skip_next || !(begins(line, "```sh") || begins(line, "```bash"));
        r->skip_next = false;
    } else if (line[strspn(line, " \t")]) {
        r->skip_next = false;
    }
}

static void take_inside(struct reader *r, char *line)
{
    if (begins(line, "```")) {
        r->in_block = false;
        r->command[0] = '\0';
        return;
    }
    if (strstr(line, "# test: skip")) r->skip = true;
    if (r->skip || begins(line, "#")) return;
    const size_t used = strlen(r->command), n = strlen(line);
    const bool continued = n && line[n - 1] == '\\';
    if (continued) line[n - 1] = ' ';
    (void)snprintf(r->command + used, sizeof r->command - used, "%s", line);
    if (continued) return;
    check_command(r->file, r->line_number, r->command);
    r->command[0] = '\0';
}

static void check_file(const char *path)
{
    char *line = NULL;
    size_t size = 0;
    struct reader r = {.file = path};
    FILE *f = fopen(path, "r");
    while (f && getline(&line, &size, f) > 0) {
        r.line_number++;
        line[strcspn(line, "\r\n")] = '\0';
        if (r.in_block)
            take_inside(&r, line);
        else
            take_outside(&r, line);
    }
    free(line);
    if (f) (void)fclose(f);
}

static void check_folder(const char *name)
{
    DIR *folder = opendir(name);
    CU_ASSERT_PTR_NOT_NULL(folder);
    if (!folder) return;
    for (struct dirent *e = readdir(folder); e; e = readdir(folder)) {
        char path[300];
        const char *dot = strrchr(e->d_name, '.');
        (void)snprintf(path, sizeof path, "%s/%.255s", name, e->d_name);
        if (dot && !strcmp(dot, ".md")) check_file(path);
    }
    (void)closedir(folder);
}

TEST(docs, commands_of_the_documentation_are_accepted)
{
    check_folder(".");
    check_folder("docs");
    check_folder("docs/decisions");
    CU_ASSERT(n_commands > 50);
}

/* The reader itself: what it must find, join, cut and leave out. */
TEST(docs, the_reader_finds_what_it_should)
{
    char path[160];
    (void)snprintf(path, sizeof path, "%s/page.md", test_tmpdir());
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    (void)fputs("build/wsc not-in-a-block\n"
                "```sh\n"
                "make\n"
                "sh Makefile\n"
                "build/wsc ranks --num_csx 4 | cat   # a comment\n"
                "mpirun -n $(build/wsc ranks --num_csx 2) build/wsc run \\\n"
                "    --params configs/params/tiny.yaml --num_csx 2\n"
                "```\n"
                "# test: skip\n"
                "```sh\n"
                "build/wsc nonsense\n"
                "```\n"
                "```c\n"
                "build/wsc nonsense\n"
                "```\n"
                "```sh\n"
                "# test: skip\n"
                "build/wsc nonsense\n"
                "```\n"
                "```bash\n"
                "OMP_NUM_THREADS=2 build/wsc inspect configs/params/tiny.yaml >/dev/null\n"
                "```\n",
                f);
    (void)fclose(f);
    const int before = n_commands;
    check_file(path);
    T_EQ(n_commands - before, 5);
    char known[] = " check-unit T=units NPS=\"1 2\"", unknown[] = " check-nothing";
    CU_ASSERT(targets_exist(known));
    CU_ASSERT_FALSE(targets_exist(unknown));
    CU_ASSERT_FALSE(script_exists("tests/no_such_script.sh"));
    char line[] = "mpirun -n 2 build/wsc run --set 'a|b' > log";
    char *words = program_words(line);
    CU_ASSERT_PTR_NOT_NULL_FATAL(words);
    cut_at_shell(words);
    T_STR(words, " run --set 'a|b' ");
}

/* Files and headings that the documents name, the glossary's and the first day's among them. */
TEST(docs, what_the_documents_name_exists)
{
    struct spawn_result r;
    spawn_run(&r, "sh tests/lint/check.sh docs 2>&1");
    T_EQ(r.status, 0);
    T_STR(r.out, "");
    spawn_free(&r);
}

/* Rows that EXTENDING.md shows are rows of the source, apart from blanks and continued lines. */
TEST(docs, rows_shown_are_those_of_the_source)
{
    struct spawn_result r;
    spawn_run(&r,
              "dir=$(mktemp -d); "
              "awk '/^```c$/ { f = 1; b = \"\"; next } /^```$/ { if (f) print b; f = 0 } "
              "f { b = b $0 }' docs/EXTENDING.md | tr -d ' \\134' >$dir/rows; "
              "find src include -name '*.[ch]' -exec cat {} + | tr -d ' \\134\\n' >$dir/source; "
              "wc -l <$dir/rows; while read -r row; do "
              "grep -qF -- \"$row\" $dir/source || echo \"$row\" >&2; done <$dir/rows; "
              "rm -r $dir");
    CU_ASSERT(strtol(r.out, NULL, 10) >= 4);
    T_STR(r.err, "");
    spawn_free(&r);
}

TEST(docs, config_page_is_current)
{
    CU_ASSERT(spawn_ok("\"$WSC\" --help-config | diff - docs/CONFIG.md"));
}

/* The costs of faults are those of the command above their table. */
TEST(docs, the_table_of_faults_is_current)
{
    char dir[160];
    (void)snprintf(dir, sizeof dir, "%s/faults_doc", test_tmpdir());
    CU_ASSERT(spawn_ok("sh tests/faults_doc.sh check \"$WSC\" %s", dir));
}

/* The picture of the layers is made from the includes; `make docs` writes it again. */
TEST(docs, picture_of_the_layers_is_current)
{
    CU_ASSERT(spawn_ok("sh tests/lint/layer_picture.sh check"));
}
