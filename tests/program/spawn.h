/** Commands as a user types them: started by a shell, bounded in time, with all that they leave.
 *
 *  Each command carries a mark in its environment, by which every process that it started is
 *  found again, under mpirun too.
 */
#ifndef WSC_TEST_SPAWN_H
#define WSC_TEST_SPAWN_H
#include <stdbool.h>
#include <sys/types.h>

/** A command that runs. */
struct spawn {
    pid_t pid;
    char mark[64]; /**< WSC_TEST_MARK=... of all its processes */
    char out_path[128], err_path[128];
};
/** How it ended. */
struct spawn_result {
    int status;      /**< exit status; 128 + signal; -1 when it took too long and was killed */
    char *out, *err; /**< owned; never NULL */
    int n_left;      /**< processes that were still there two seconds later */
};
/** Start `sh -c command`; $WSC is the program. */
bool spawn_start(struct spawn *s, const char *command);
/** Is it on the PATH?  If not, the test says that it is skipped. */
bool spawn_has(const char *program);
/** Wait, on an idle host at most @p seconds: a limit against hangs, and five times that is waited
 *  for, since a busy host takes as much longer. */
void spawn_wait(struct spawn *s, double seconds, struct spawn_result *r);
/** SIGKILL to every process of the command but its shell; returns how many. */
int spawn_kill(const struct spawn *s);
/** Signal @p signal_number to every process of the command but its shell; returns how many. */
int spawn_signal(const struct spawn *s, int signal_number);
/** Has the shell ended? */
bool spawn_ended(const struct spawn *s);
/** The process of the command that is rank @p rank of an MPI job and whose number is not @p but; 0
 *  when there is none. */
pid_t spawn_find_rank(const struct spawn *s, int rank, pid_t but);
/** Start a command and wait for its end, for at most 60 s on an idle host. */
void spawn_run(struct spawn_result *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void spawn_free(struct spawn_result *r);
/** The standard output of a command that has to succeed, owned; frees the rest of @p r. */
char *spawn_output(struct spawn_result *r);
/** Run a command that has to succeed quietly: prints what it said otherwise. */
bool spawn_ok(const char *format, ...) __attribute__((format(printf, 1, 2)));
#endif
