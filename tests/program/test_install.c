// SPDX-License-Identifier: Apache-2.0
/* `make install`: what is installed works from wherever its folder is, `make uninstall` leaves
 * nothing of it, and the program finds its files in a tree, an installation or $WSC_DATA_DIR. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdio.h>
#include <string.h>

/* make without a build, and without what the make that runs the tests says to its own. */
#define MAKE "env -u MAKEFLAGS -u MAKELEVEL make -s -o all BUILD=\"${WSC%%/bin/wsc}\" "

/* A prefix with a blank in its name, installed to and then moved: the new place; borrowed. */
static const char *install_and_move(void)
{
    static char moved[160];
    const char *dir = job_path("first place");
    (void)snprintf(moved, sizeof moved, "%s", job_path("moved to"));
    CU_ASSERT_TRUE_FATAL(spawn_ok(MAKE "install PREFIX='%s/p' && mv '%s/p' '%s' && rmdir '%s'", dir,
                                  dir, moved, dir));
    return moved;
}

TEST(install, a_moved_installation_has_all_that_commands_need)
{
    const char *p = install_and_move(), *out = job_path("installed out");
    CU_ASSERT(spawn_ok("cd / && '%s'/bin/wsc reproduce --only machines --out '%s/r'", p, out));
    CU_ASSERT(spawn_ok("bash -c 'PATH=\"%s/bin:$PATH\"; . \"%s/share/bash-completion/completions/"
                       "wsc\"; COMP_WORDS=(wsc run --params \"%s/bin/../share/wsc/configs/params/"
                       "gpt3_17\"); COMP_CWORD=3; _wsc 2>/dev/null; echo \"${COMPREPLY[*]}\"' | "
                       "grep -q gpt3_175b.yaml",
                       p, p, p));
    CU_ASSERT(spawn_ok("man -l '%s'/share/man/man1/wsc-run.1 | grep -q num_csx || "
                       "! command -v man",
                       p));
    CU_ASSERT(spawn_ok("cd / && '%s'/bin/wsc scale --params '%s'/share/wsc/configs/params/"
                       "gpt3_13b.yaml --num_csx 1,2 --out '%s/s' 2>'%s/said' && "
                       "! grep -q 'left out: there is no' '%s/said'",
                       p, p, out, out, out));
    CU_ASSERT(spawn_ok("cd '%s/share/wsc' && unset WSC && mpi_launch/local.sh -n 2 --num_csx 2 "
                       "--params configs/params/tiny.yaml --num_steps 2 --model_dir '%s/t'",
                       p, out));
}

/* What the published figures are compared with does not depend on where the program is. */
TEST(install, results_are_those_of_the_tree)
{
    const char *p = install_and_move(), *out = job_path("compared");
    CU_ASSERT(spawn_ok("\"$WSC\" reproduce --only times_to_train --out %s/tree && "
                       "'%s'/bin/wsc reproduce --only times_to_train --out %s/installed && "
                       "cmp %s/tree/times_to_train.csv %s/installed/times_to_train.csv",
                       out, p, out, out, out));
}

TEST(install, a_program_is_built_with_headers_and_library)
{
    const char *p = install_and_move(), *out = job_path("client");
    CU_ASSERT(spawn_ok("mkdir %s && ln -s '%s' %s/p && printf '#include <wsc/out.h>\\n"
                       "#include <stdio.h>\\nint main(void) { return puts(out_version()) < 0; }' "
                       ">%s/client.c && PKG_CONFIG_PATH=%s/p/lib/pkgconfig && "
                       "export PKG_CONFIG_PATH && mpicc -fopenmp %s/client.c -o %s/client "
                       "$(pkg-config --static --cflags --libs wsc) && "
                       "test \"$(%s/client)\" = \"$(\"$WSC\" --version | head -n 1)\"",
                       out, p, out, out, out, out, out, out));
}

TEST(install, uninstall_leaves_nothing_but_what_is_not_its_own)
{
    const char *p = install_and_move(), *root = job_path("destdir");
    CU_ASSERT(spawn_ok("touch '%s/share/wsc/mine' && " MAKE "uninstall PREFIX='%s' && "
                       "test \"$(find '%s' -type f)\" = '%s/share/wsc/mine'",
                       p, p, p, p));
    CU_ASSERT(spawn_ok("mkdir -p %s/usr/lib && " MAKE "install DESTDIR=%s PREFIX=/usr && "
                       "test -x %s/usr/bin/wsc && " MAKE "uninstall DESTDIR=%s PREFIX=/usr && "
                       "test \"$(find %s | wc -l)\" = 3",
                       root, root, root, root, root));
    CU_ASSERT(spawn_ok("! " MAKE "uninstall PREFIX=%s 2>%s/said && "
                       "grep -q 'no installation' %s/said",
                       root, root, root));
}

/* Files of the version before that the new one does not have. */
TEST(install, a_second_installation_replaces_the_first)
{
    const char *p = install_and_move();
    CU_ASSERT(
        spawn_ok("echo 'f share/wsc/old.yaml' >>'%s/share/wsc/manifest' && "
                 "touch '%s/share/wsc/old.yaml' && cp '%s/share/wsc/manifest' '%s.before' && " MAKE
                 "install PREFIX='%s' && ! test -e '%s/share/wsc/old.yaml' && "
                 "grep -v old.yaml '%s.before' | sort >'%s.expected' && "
                 "sort '%s/share/wsc/manifest' | cmp - '%s.expected'",
                 p, p, p, p, p, p, p, p, p, p));
}

/* A program alone in a folder. */
TEST(install, wsc_data_dir_names_the_files)
{
    const char *dir = job_path("alone");
    struct spawn_result r;
    CU_ASSERT_TRUE_FATAL(spawn_ok("mkdir %s && cp \"$WSC\" %s/wsc", dir, dir));
    spawn_run(&r, "%s/wsc reproduce --only machines --out %s/r", dir, dir);
    T_EQ(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "is not beside the program"));
    spawn_free(&r);
    spawn_run(&r, "WSC_DATA_DIR=%s %s/wsc reproduce --only machines --out %s/r", dir, dir, dir);
    T_EQ(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "is not in WSC_DATA_DIR"));
    spawn_free(&r);
    CU_ASSERT(spawn_ok("WSC_DATA_DIR=$PWD %s/wsc reproduce --only machines --out %s/r", dir, dir));
    /* A choice that is wrong is not passed over in silence by the program of the tree. */
    CU_ASSERT(spawn_ok("! WSC_DATA_DIR=/nowhere \"$WSC\" reproduce --only machines --out %s/no "
                       "2>%s/said && grep -q WSC_DATA_DIR %s/said",
                       dir, dir, dir));
}
