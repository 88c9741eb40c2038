// SPDX-License-Identifier: Apache-2.0
/* The program: finds the command, has its options parsed, starts MPI where the command uses ranks,
 * runs it, prints the error, ends with its exit status.
 * Read next: commands.c (the commands), option_parse.c, cmd_run.c. */
#include "commands.h"
#include "option_help.h"
#include "option_parse.h"
#include "options.h"
#include "path_check.h"
#include "process.h"

#include <wsc/check.h>
#include <wsc/job.h>
#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/num.h>
#include <wsc/out.h>
#include <wsc/report.h>
#include <wsc/stop.h>
#include <wsc/store.h>
#include <wsc/units.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- what is printed ------------------------------------------------------------------------- */

/* Results that nobody can read are a failure: a full disk, a closed descriptor. */
static enum wsc_err check_stdout(void)
{
    if (!fflush(stdout) && !ferror(stdout)) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_IO, "standard output cannot be written"),
                        "is it closed, or its disk full?");
}

/* Without this the next file that is opened would get the number of a closed standard stream, and
 * the output with it.  Writing to what stands in for it fails. */
static void fill_standard_streams(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDONLY) < 0) _exit(1);
}

/* Print a text that was made, and release it. */
static enum wsc_err print_text(enum wsc_err rc, char *text)
{
    if (!rc) (void)fputs(text, stdout);
    wsc_free(text);
    return rc;
}

/* `wsc --help`, and what a command line without words gets. */
static enum wsc_err print_overview(FILE *out)
{
    char *text = NULL;
    TRY(app_overview(app_commands, &text));
    (void)fputs(text, out);
    wsc_free(text);
    return WSC_OK;
}

/* Every key of params and cluster files: docs/CONFIG.md. */
static enum wsc_err print_keys(void)
{
    char *text = NULL;
    enum wsc_err rc = report_config_reference(&text);
    return print_text(rc, text);
}

/* `wsc COMMAND --help`. */
static enum wsc_err print_help(const struct app_call *call)
{
    char *text = NULL;
    enum wsc_err rc = app_help(call->command, call->table, &text);
    return print_text(rc, text);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* True when this process was started by mpirun, srun or the like; those tell the number of ranks
 * before MPI starts, or not. */
static bool started_by_mpi(const struct app_command *command)
{
    static const char *const size[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    bool found = getenv("PMIX_RANK") || getenv("PMI_RANK");
    for (int i = 0; i < (int)(sizeof size / sizeof *size); i++) {
        const char *n = getenv(size[i]);
        if (n && !strcmp(n, "1") && command->ranks != APP_RANKS_ALL) return false;
        found = found || n;
    }
    return found;
}

/* Rank 0 works; the others learn whether it succeeded. */
static enum wsc_err run_on_first(struct app_call *call, struct comm *comm)
{
    bool reports = true;
    enum wsc_err rc = comm_rank(comm) ? WSC_OK : call->command->run(call);
    enum wsc_err all = comm_agree(comm, rc, &reports);
    if (all && !reports) app_set_reported();
    return all;
}

/* The command on all ranks, when it uses them; otherwise on rank 0 alone. */
static enum wsc_err run_on_ranks(struct app_call *call, struct comm *comm)
{
    switch (call->command->ranks) {
    case APP_RANKS_ALL:
    case APP_RANKS_SHARE:
        call->comm = comm;
        break;
    case APP_RANKS_FIRST:
        return run_on_first(call, comm);
    case APP_RANKS_ONE:
        if (comm_size(comm) == 1) break;
        if (comm_rank(comm)) app_set_reported();
        return wsc_err_hint(WSC_RAISE(WSC_USAGE, "wsc %s: %d ranks, but it uses one",
                                      call->command->name, comm_size(comm)),
                            "start it without mpirun");
    }
    return call->command->run(call);
}

/* Ranks that agree on an error @p rc of the command line, and that have the same command line. */
static enum wsc_err start_together(struct comm *comm, enum wsc_err rc, int argc, char **argv)
{
    bool reports;
    rc = comm_agree(comm, rc, &reports);
    if (!rc) rc = job_compare_commands(comm, argc, argv, &reports);
    if (rc && !reports) app_set_reported();
    return rc;
}

/* Even a wrong command line (@p rc) starts MPI, so that the ranks end together and one reports. */
static enum wsc_err start(struct app_call *call, struct comm **comm, enum wsc_err rc, int argc,
                          char **argv)
{
    const struct app_command *command = call->command;
    const bool mpi = started_by_mpi(command);
    if (mpi || (!rc && command->ranks == APP_RANKS_ALL)) {
        enum wsc_err started = comm_create(comm, mpi);
        rc = started ? started : start_together(*comm, rc, argc, argv);
    }
    return rc;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Parse the options, start the ranks, run, end MPI. */
static enum wsc_err run_command(const struct app_command *command, int argc, char **argv)
{
    struct app_call call = {.command = command, .commands = app_commands, .table = app_options};
    struct comm *comm = NULL;
    const bool stops = command->stops || command->ranks == APP_RANKS_ALL;
    enum wsc_err rc = stops ? wsc_stop_start() : WSC_OK;
    if (!rc) rc = out_progress_check();
    if (!rc) rc = comm_check_limits();
    if (!rc) rc = app_parse(&call, app_commands, command, app_options, argc, argv);
    if (!rc && !call.help) rc = app_check_paths(&call, NULL, 0);
    if (!rc && call.help) {
        rc = print_help(&call);
    } else {
        rc = start(&call, &comm, rc, argc, argv);
        if (!rc) rc = comm ? run_on_ranks(&call, comm) : command->run(&call);
    }
    if (!rc) rc = check_stdout();
    /* Before MPI ends: the first rank that exits with a failure takes the others with it. */
    if (rc) app_report_error();
    comm_destroy(&comm);
    app_call_fini(&call);
    return rc;
}

/* The command that the first arguments name, and in how many words; the longest name wins. */
static const struct app_command *find_command(int argc, char **argv, int *n_words)
{
    const struct app_command *found = NULL;
    for (const struct app_command *c = app_commands; c->name; c++) {
        const char *second = strchr(c->name, ' ');
        const size_t n = strcspn(c->name, " ");
        if (strlen(argv[1]) != n || strncmp(argv[1], c->name, n) != 0) continue;
        if (second && (argc < 3 || strcmp(argv[2], second + 1) != 0)) continue;
        found = c;
        *n_words = second ? 2 : 1;
    }
    return found;
}

/* The error for a command that is not in the table, with the nearest one. */
static enum wsc_err unknown_command(const char *name)
{
    const char *near = NULL;
    int best = 3;
    for (const struct app_command *c = app_commands; c->name; c++) {
        const int d = wsc_units_distance(name, c->name);
        if (d >= best) continue;
        best = d;
        near = c->name;
    }
    enum wsc_err rc = WSC_RAISE(WSC_USAGE, "%s: no such command", name);
    return near ? wsc_err_hint(rc, "did you mean wsc %s?", near)
                : wsc_err_hint(rc, "wsc --help lists the commands");
}

/* An unknown command ends all ranks, of which one reports. */
static enum wsc_err refuse_command(int argc, char **argv)
{
    static const struct app_command none = {.ranks = APP_RANKS_ONE};
    struct app_call call = {.command = &none};
    struct comm *comm = NULL;
    enum wsc_err rc = start(&call, &comm, unknown_command(argv[1]), argc, argv);
    app_report_error();
    comm_destroy(&comm);
    return rc;
}

/* A stack that is too small for a library is a crash without a word. */
static enum wsc_err check_stack(void)
{
    enum { NEEDED_KIB = 512 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur / 1024 >= NEEDED_KIB)
        return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_USAGE, "the stack is limited to %lld KiB, %d are needed",
                                  (long long)(limit.rlim_cur / 1024), NEEDED_KIB),
                        "ulimit -s 8192");
}

/* Options of the program itself, then commands. */
static enum wsc_err dispatch(int argc, char **argv)
{
    TRY(check_stack());
    int n_words = 0;
    const struct app_command *command = find_command(argc, argv, &n_words);
    if (command) return run_command(command, argc - n_words, argv + n_words);
    if (argc > 2) return refuse_command(argc, argv);
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        TRY(print_overview(stdout));
    else if (!strcmp(argv[1], "--version"))
        (void)printf("%s\n%s\n", out_version(), num_library());
    else
        TRY(strcmp(argv[1], "--help-config") ? refuse_command(argc, argv) : print_keys());
    return check_stdout();
}

int main(int argc, char **argv)
{
    if (store_probe_served(argc, argv)) return 0;
    fill_standard_streams();
    wsc_mem_tune();
    (void)signal(SIGXFSZ, SIG_IGN); /* a quota is a failed write, not a death */
    app_set_command_line(argc, argv);
    if (argc < 2) {
        const enum wsc_err rc = print_overview(stderr);
        return wsc_err_exit_status(rc ? rc : WSC_USAGE);
    }
    enum wsc_err rc = dispatch(argc, argv);
    if (!rc) return wsc_mem_balanced() ? 0 : 1;
    app_report_error();
    wsc_err_show_trace();
    return wsc_err_exit_status(rc);
}
