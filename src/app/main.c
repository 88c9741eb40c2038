// SPDX-License-Identifier: Apache-2.0
#include "app.h"

#include <wsc/check.h>
#include <wsc/log.h>
#include <wsc/mem.h>
#include <wsc/num.h>
#include <wsc/report.h>
#include <wsc/store.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct app_command command[] = {
    {"run", app_run, "train, evaluate or generate on emulated CS-2 systems"},
    {"scale", app_scale, "throughput against the number of systems, as table, plot and report"},
    {"validate", app_validate, "predict published figures and say how far off each is"},
    {"calibrate", app_calibrate, "fit constants of the machine to published figures"},
    {"mesh", app_mesh, "run a kernel on the emulated dataflow mesh, cycle by cycle"},
    {"data", app_data, "make a dataset from text"},
    {"convert", app_convert, "checkpoints from and to Hugging Face"},
    {"inspect", app_inspect, "say what is in a checkpoint, dataset, params or cluster file"},
    {"ranks", app_ranks, "print the number of MPI ranks for one role per rank"},
};
enum { N_COMMANDS = sizeof command / sizeof *command };

static char command_line[4096];
static bool reported;

const char *app_command_line(void)
{
    return command_line;
}

void app_set_reported(void)
{
    reported = true;
}

static void remember_command_line(int argc, char **argv)
{
    size_t used = 0;
    for (int i = 0; i < argc && used < sizeof command_line; i++) {
        int n = snprintf(command_line + used, sizeof command_line - used, "%s%s", i ? " " : "",
                         i ? argv[i] : "wsc");
        if (n > 0) used += (size_t)n;
    }
}

static void print_help(FILE *out)
{
    (void)fputs("wsc: an emulator of a wafer-scale cluster: CS-2 wafers, the MemoryX weight store\n"
                "and the SwarmX tree.  It trains GPTs by weight streaming and keeps the emulated\n"
                "machine's time.\n\n"
                "usage: wsc COMMAND [options]     (wsc COMMAND --help for its options)\n"
                "       wsc --version | --help-config\n\n",
                out);
    for (int i = 0; i < N_COMMANDS; i++)
        (void)fprintf(out, "  %-10s %s\n", command[i].name, command[i].summary);
    (void)fputs("\nexamples:\n"
                "  wsc run --params configs/params/default.yaml --num_csx 4\n"
                "  mpirun -n $(wsc ranks --num_csx 4) wsc run --params my.yaml --num_csx 4\n"
                "  wsc scale --params configs/params/gpt3_13b.yaml --out out/scale\n\n"
                "exit status: 0 success, 1 the run failed, 2 usage or configuration, 3 does not\n"
                "fit the emulated machine, 4 non-finite numbers, 5 stopped by SIGTERM or\n"
                "SIGUSR1.\n",
                out);
}

/* A list of configuration errors has a line each. */
static void print_errors(const char *message)
{
    while (*message) {
        int length = (int)strcspn(message, "\n");
        (void)fprintf(stderr, "wsc: error: %.*s\n", length, message);
        message += length + (message[length] == '\n');
    }
}

void app_report_error(void)
{
    if (!reported) print_errors(wsc_err_message());
    reported = true;
}

static int fail(enum wsc_err rc)
{
    app_report_error();
    wsc_err_show_trace();
    return wsc_err_exit_status(rc);
}

static enum wsc_err unknown_command(const char *name)
{
    enum wsc_err rc = WSC_RAISE(WSC_USAGE, "%s: no such command", name);
    return wsc_err_hint(rc, "wsc --help lists them");
}

static enum wsc_err dispatch(int argc, char **argv)
{
    for (int i = 0; i < N_COMMANDS; i++)
        if (!strcmp(argv[1], command[i].name)) return command[i].run(argc - 1, argv + 1);
    return unknown_command(argv[1]);
}

/* Every key of params and cluster files: docs/CONFIG.md. */
static enum wsc_err print_keys(void)
{
    char *text = NULL;
    TRY(report_config_reference(&text));
    (void)fputs(text, stdout);
    wsc_free(text);
    return WSC_OK;
}

int main(int argc, char **argv)
{
    if (store_probe_served(argc, argv)) return 0;
    wsc_mem_tune();
    (void)signal(SIGXFSZ, SIG_IGN); /* a quota is a failed write, not a death */
    remember_command_line(argc, argv);
    if (argc < 2) {
        print_help(stderr);
        return wsc_err_exit_status(WSC_USAGE);
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        print_help(stdout);
        return 0;
    }
    if (!strcmp(argv[1], "--version")) {
        (void)printf("%s\n", out_version());
        return 0;
    }
    opterr = 0;
    enum wsc_err rc = strcmp(argv[1], "--help-config") ? dispatch(argc, argv) : print_keys();
    if (rc) return fail(rc);
    return wsc_mem_balanced() ? 0 : 1;
}
