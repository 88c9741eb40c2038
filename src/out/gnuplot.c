// SPDX-License-Identifier: Apache-2.0
/* Pictures: gnuplot, started as a program in the folder of its script. */
#include <wsc/out.h>

#include <wsc/mem.h>

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { SAID_SIZE = 1024, NAME_SIZE = 64 };

static int spawn_gnuplot(pid_t *child, const char *dir, char *script, int said)
{
    char program[] = "gnuplot";
    char *argv[] = {program, script, NULL};
    posix_spawn_file_actions_t actions;
    int why = posix_spawn_file_actions_init(&actions);
    if (why) return why;
    why = posix_spawn_file_actions_addchdir_np(&actions, dir);
    if (!why) why = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!why) why = posix_spawn_file_actions_adddup2(&actions, said, 1);
    if (!why) why = posix_spawn_file_actions_adddup2(&actions, said, 2);
    if (!why) why = posix_spawnp(child, program, &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return why;
}

/* Keep the beginning of what it says, on one line; read all of it so that it never blocks. */
static void listen_to(int fd, char *said, size_t size)
{
    char part[512];
    size_t used = 0;
    ssize_t n;
    while ((n = read(fd, part, sizeof part)) > 0 || (n < 0 && errno == EINTR)) {
        for (ssize_t i = 0; i < n && used + 1 < size; i++) {
            bool space = part[i] == '\n' || part[i] == '\t' || part[i] == ' ';
            if (space && (!used || said[used - 1] == ' ')) continue;
            said[used++] = part[i];
            if (space) said[used - 1] = ' ';
        }
    }
    said[used] = '\0';
}

enum wsc_err out_gnuplot_run(const char *dir, char *script)
{
    int ends[2], status = 0;
    pid_t child = 0, done = 0;
    char said[SAID_SIZE];
    if (pipe2(ends, O_CLOEXEC)) return WSC_RAISE(WSC_IO, "no pipe: %s", strerror(errno));
    int why = spawn_gnuplot(&child, dir, script, ends[1]);
    (void)close(ends[1]);
    if (why) {
        (void)close(ends[0]);
        return wsc_err_hint(WSC_RAISE(WSC_IO, "gnuplot cannot be started: %s", strerror(why)),
                            "install the Debian package gnuplot-nox");
    }
    listen_to(ends[0], said, sizeof said);
    (void)close(ends[0]);
    do {
        done = waitpid(child, &status, 0);
    } while (done < 0 && errno == EINTR);
    if (done == child && WIFEXITED(status) && WEXITSTATUS(status) == 0) return WSC_OK;
    return WSC_RAISE(WSC_IO, "%s/%s: gnuplot failed: %s", dir, script, said);
}

static WSC_CHECKED enum wsc_err check_picture(const char *dir, const char *name)
{
    struct stat info;
    char *path = out_file_path(dir, name);
    if (!path) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "name a picture");
    bool good = !stat(path, &info) && info.st_size > 0;
    wsc_free(path);
    if (!good) return WSC_RAISE(WSC_IO, "%s/%s: gnuplot has not written it", dir, name);
    return WSC_OK;
}

/* A picture of an earlier sweep must not pass for this one. */
static void remove_old(const char *dir, const char *name)
{
    char *path = out_file_path(dir, name);
    if (path) (void)unlink(path);
    wsc_free(path);
}

void out_gnuplot_output(struct out_text *t, const char *name, const char *commands, int height)
{
    out_text_add(t,
                 "set terminal svg size 1000,%d dynamic noenhanced font "
                 "'DejaVu Sans,Helvetica,sans-serif,14' background '#ffffff' "
                 "name '%s'\nset output '%s.svg'\n%s",
                 height, name, name, commands);
    out_text_add(t,
                 "set terminal pngcairo size 2000,%d noenhanced font 'DejaVu Sans,13' "
                 "fontscale 1.8 linewidth 2 pointscale 1.9 background '#ffffff'\n"
                 "set output '%s.png'\nreplot\nunset output\n",
                 2 * height, name);
}

enum wsc_err out_gnuplot(const char *dir, const char *name, struct out_text *script)
{
    char file[3][NAME_SIZE];
    (void)snprintf(file[0], NAME_SIZE, "%s.gp", name);
    (void)snprintf(file[1], NAME_SIZE, "%s.svg", name);
    (void)snprintf(file[2], NAME_SIZE, "%s.png", name);
    TRY(out_text_write(script, dir, file[0]));
    remove_old(dir, file[1]);
    remove_old(dir, file[2]);
    TRY(out_gnuplot_run(dir, file[0]));
    TRY(check_picture(dir, file[1]));
    return check_picture(dir, file[2]);
}
