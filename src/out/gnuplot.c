// SPDX-License-Identifier: Apache-2.0
/* Pictures: gnuplot is started with posix_spawn in the folder of its script, and what it prints
 * goes into the error.  A picture counts only when its file ends as an SVG, a PNG or a PDF
 * does: gnuplot ends with status 0 on a full disk. */
#include <wsc/out.h>

#include <wsc/check.h>
#include <wsc/mem.h>

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Bytes of gnuplot's output that are kept for the error; longest file name. */
enum { SAID_SIZE = 1024, NAME_SIZE = OUT_PICTURE_NAME_BYTES + sizeof ".svg" };

/* Start `gnuplot SCRIPT` in @p dir with its output going to the pipe end @p said.  posix_spawn,
 * because a process with MPI and threads must not fork.  Returns an errno. */
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
        return wsc_err_hint(
            WSC_RAISE(WSC_IO, "gnuplot cannot be started: %s", strerror(why)),
            "install the Debian package gnuplot-nox; what needs no pictures is written");
    }
    listen_to(ends[0], said, sizeof said);
    (void)close(ends[0]);
    do {
        done = waitpid(child, &status, 0);
    } while (done < 0 && errno == EINTR);
    if (done == child && WIFEXITED(status) && WEXITSTATUS(status) == 0) return WSC_OK;
    return WSC_RAISE(WSC_IO, "%s/%s: gnuplot failed: %s", dir, script, said);
}

/* True when the file ends as a whole picture does; gnuplot says nothing of a disk that is full. */
static bool is_whole(const char *path, const char *end, size_t n_end)
{
    enum { TAIL = 64 };
    char tail[TAIL + 1];
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    bool good = !fseek(f, -TAIL, SEEK_END);
    const size_t n = good ? fread(tail, 1, TAIL, f) : 0;
    good = n == TAIL && memmem(tail, n, end, n_end);
    (void)fclose(f);
    return good;
}

/* What the file of a picture ends with, by its name: the closing tag of an SVG, the chunk IEND of a
 * PNG, the mark of a PDF. */
static const char *end_of(const char *name)
{
    static const struct {
        const char *ending, *tail;
    } forms[] = {{".svg", "</svg>"}, {".png", "IEND"}, {".pdf", "%%EOF"}};
    size_t i = 0;
    while (!strstr(name, forms[i].ending))
        i++;
    return forms[i].tail;
}

static WSC_CHECKED enum wsc_err check_picture(const char *dir, const char *name)
{
    const char *end = end_of(name);
    char *path = out_file_path(dir, name);
    if (!path) return wsc_err_frame(WSC_NOMEM, __FILE__, __LINE__, "name a picture");
    const bool good = is_whole(path, end, strlen(end));
    wsc_free(path);
    if (good) return WSC_OK;
    return wsc_err_hint(WSC_RAISE(WSC_IO, "%s/%s: gnuplot has not written all of it", dir, name),
                        "is the disk full?");
}

/* A picture of an earlier sweep, or half a picture, must not pass for this one. */
static void remove_picture(const char *dir, const char *name)
{
    char *path = out_file_path(dir, name);
    if (path) (void)unlink(path);
    wsc_free(path);
}

void out_gnuplot_output(struct wsc_text *t, const char *name, const char *commands, int height)
{
    wsc_text_add(t,
                 "set terminal svg size 1000,%d dynamic noenhanced font "
                 "'DejaVu Sans,Helvetica,sans-serif,14' background '#ffffff' "
                 "name '%s'\nset output '%s.svg'\n%s",
                 height, name, name, commands);
    wsc_text_add(t,
                 "set terminal pngcairo size 2000,%d noenhanced font 'DejaVu Sans,13' "
                 "fontscale 1.8 linewidth 2 pointscale 1.9 background '#ffffff'\n"
                 "set output '%s.png'\n%sunset output\n",
                 2 * height, name, commands);
}

/* Run the script and check the @p n pictures; none is left after an error. */
static WSC_CHECKED enum wsc_err draw(const char *dir, const char *name, struct wsc_text *script,
                                     const char *const *endings, int n)
{
    enum { MOST = 2 };
    char gp[NAME_SIZE], file[MOST][NAME_SIZE];
    WSC_CHECK(strlen(name) <= OUT_PICTURE_NAME_BYTES, "%s", name);
    (void)snprintf(gp, NAME_SIZE, "%s.gp", name);
    enum wsc_err rc = out_text_write(script, dir, gp);
    for (int i = 0; i < n; i++) {
        (void)snprintf(file[i], NAME_SIZE, "%s%s", name, endings[i]);
        remove_picture(dir, file[i]);
    }
    if (!rc) rc = out_gnuplot_run(dir, gp);
    for (int i = 0; i < n && !rc; i++)
        rc = check_picture(dir, file[i]);
    for (int i = 0; i < n && rc; i++)
        remove_picture(dir, file[i]);
    return rc;
}

enum wsc_err out_gnuplot(const char *dir, const char *name, struct wsc_text *script)
{
    static const char *const endings[] = {".svg", ".png"};
    return draw(dir, name, script, endings, 2);
}

enum wsc_err out_gnuplot_pdf(const char *dir, const char *name, struct wsc_text *script)
{
    static const char *const endings[] = {".pdf"};
    return draw(dir, name, script, endings, 1);
}
