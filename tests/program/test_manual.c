// SPDX-License-Identifier: Apache-2.0
/* Pages of the manual: one for each command, with all its options; one for each kind of files, with
 * all its keys; without a finding of mandoc. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <string.h>

/* For each page: a shell command about $page. */
#define EACH_PAGE "for page in $(\"$WSC\" help --man list); do "
/* A page as a reader sees it, without line breaks in the middle of names. */
#define PLAIN "sed 's/\\\\f[BIR]//g; s/\\\\-/-/g; s/\\\\e/\\\\/g; s/\\\\(ga/`/g'"

TEST(manual, mandoc_has_nothing_to_say)
{
    if (!spawn_has("mandoc")) return;
    const char *page = job_path("page");
    CU_ASSERT(spawn_ok(EACH_PAGE "\"$WSC\" help --man $page >%s && "
                                 "mandoc -T lint <%s || exit 1; done",
                       page, page));
}

TEST(manual, every_command_has_a_page_with_all_its_options)
{
    const char *names = job_path("names"), *page = job_path("page");
    CU_ASSERT(spawn_ok(
        "\"$WSC\" --help | sed -n 's/^  \\([a-z]*\\( train-bpe\\)*\\)  .*/\\1/p' >%s && "
        "test $(wc -l <%s) -ge 12 && while read -r name; do "
        "page=wsc-$(echo $name | tr ' ' -); \"$WSC\" help --man $page | " PLAIN " >%s || exit 1; "
        "for option in $(\"$WSC\" help $name | sed -n 's/^  \\(--[a-z_]*\\).*/\\1/p'); do "
        "grep -q -e \"^$option\\( \\|$\\)\" %s || { echo $page $option; exit 1; }; done; done <%s",
        names, names, page, page, names));
}

TEST(manual, pages_of_files_have_every_key)
{
    const char *keys = job_path("keys"), *pages = job_path("pages");
    CU_ASSERT(spawn_ok(
        "grep -v '| key |' docs/CONFIG.md | sed -n 's/^| `\\([a-z_.0-9]*\\)` |.*/\\1/p' >%s && "
        "test $(wc -l <%s) -gt 300 && for page in params cluster; do "
        "\"$WSC\" help --man wsc-$page.5; done | " PLAIN " >%s && "
        "! grep -v -x -F -f %s %s",
        keys, keys, pages, pages, keys));
}

TEST(manual, a_page_that_does_not_exist_is_refused)
{
    CU_ASSERT(spawn_ok("\"$WSC\" help --man wsc-nothing 2>&1 | "
                       "grep -q 'wsc-nothing: no such page; hint: wsc help --man list' && "
                       "test $(\"$WSC\" help nothing 2>/dev/null; echo $?) = 2 && "
                       "\"$WSC\" help run --man wsc-run 2>&1 | "
                       "grep -q 'cannot be combined with COMMAND'"));
}
