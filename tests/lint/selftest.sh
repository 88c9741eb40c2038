#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tests of the lint rules: a small tree with one fault for each rule, beside code without fault.
# Each rule must report exactly the faults that are listed here for it.
# usage: selftest.sh
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree" || exit 1
mkdir -p include/wsc src/base src/alpha src/beta tests/unit tests/lint obj
status=0

cat >tests/lint/layers.txt <<'END'
free stdio.h
0 base
1 alpha yaml.h
1 gamma yaml.h
2 beta
END
echo 'm[a-z]*_sin alpha the sine' >tests/lint/libraries.txt
cat >tests/lint/accepted.txt <<'END'
# rule key reason
unused alpha_accepted  kept for debuggers
END
printf 'behind\tafter\n' >tests/lint/terms.txt
printf '%s 9 x\n' unused tags >tests/lint/limits.txt

cat >include/wsc/mem.h <<'END'
/** Memory, which is a part of base.
 *  Second line. */
#ifndef WSC_MEM_H
#define WSC_MEM_H
#include <wsc/beta.h>
/** Has a comment. */
struct wsc_pool {
    int a;
};
#endif
END
cat >include/wsc/alpha.h <<'END'
/** The module alpha.
 *  It is used by beta. */
#ifndef WSC_ALPHA_H
#define WSC_ALPHA_H
#include <curl.h>
/* ---- a section ---- */

struct alpha;
/** A tag without prefix, with a comment. */
struct widget {
    int a; /**< The same as b */
};
/** Doubles x. */
int alpha_used(int x);
int alpha_inside(int x);
/** Only a test calls it.
 *  @param x  a number */
int alpha_tested(int x);

int alpha_accepted(int x); /**< has one behind it */
/** An inline function that nobody uses. */
static inline int alpha_inline(int x)
{
    return x;
}
/* ---- another section ---- */
#define ALPHA_PLAIN 3
enum alpha_kind { ALPHA_A, ALPHA_B };
/** Has one. */
enum alpha_fine {
    ALPHA_C,
    ALPHA_D
};
#endif
END
cat >include/wsc/beta.h <<'END'
/** The module beta.
 *  Nobody uses it. */
END
cat >src/alpha/alpha.c <<'END'
// SPDX-License-Identifier: Apache-2.0
/* The file of alpha,
 * which has an opening comment; user.c and second.c call it, gone.c is x.h of others/y.h. */
#include "../beta/beta.h"
#include <wsc/alpha.h>
#include <stdio.h>
#include <yaml.h>
#include <sys/socket.h>

int second(int x);
/* As it was. */
int alpha_used(int x)
{
    return alpha_inside(x) + second(x);
}
int alpha_inside(int x)
{
    return x;
}
int alpha_tested(int x)
{
    return x;
}
int alpha_accepted(int x)
{
    return x;
}
int alpha_lonely(void)
{
    return alpha_lonely() + 1;
}
END
cat >src/alpha/second.c <<'END'
// SPDX-License-Identifier: Apache-2.0
int alpha_inside(int x);
int m_sin(int x);
int second(int x);

/* Adds @p x to @p y. */
int second(int x)
{
    return alpha_inside(x) + m_sin(x); // Ask whether All is well
}
END
mkdir -p src/beta
cat >src/beta/user.c <<'END'
// SPDX-License-Identifier: Apache-2.0
/* Uses alpha, behind the option --behind and x_behind,
 * in a way that is allowed. Called by alpha.c. */
#include <wsc/alpha.h>
#include <yaml.h>
int m_sin(int x);
int curl_it(int x);
int abs(int x);
static const char *const text[] = {"behind", "what is behind"};

int main(void)
{
    return alpha_used(m_sin(curl_it(abs(1))));
}
END
echo 'typedef int second_type;' >tests/unit/second.c
cat >tests/unit/test_alpha.c <<'END'
// SPDX-License-Identifier: Apache-2.0
int alpha_tested(int x);
int test_it(void);
int test_it(void)
{
    return alpha_tested(1);
}
END
for f in src/alpha/alpha.c src/alpha/second.c src/beta/user.c tests/unit/second.c tests/unit/test_alpha.c; do
    mkdir -p "obj/${f%/*}"
    grep -vE 'yaml|socket|beta.h|curl\.h' "$f" >in.c
    mkdir -p plain/wsc && grep -vE 'curl|behind' include/wsc/alpha.h >plain/wsc/alpha.h
    ${CC:-cc} -Iplain -O2 -fno-inline -c -o "obj/${f%.c}.o" in.c || exit 1
    rm in.c
done

# Findings of RULE, compared with standard input.
expect() {
    sed 's/^ *//' | sort >want
    if [ "$1" = layers ]; then sh "$here/layers.sh"; else OBJ=obj sh "$here/check.sh" "$@"; fi |
        sort >got 2>&1
    cmp -s want got && return
    echo "lint selftest: rule $*: expected (<) and found (>):"
    diff want got
    status=1
}

expect prefix <<'END'
    src/alpha/second.c: second does not start with alpha_
END
expect unused <<'END'
    src/alpha/alpha.c: alpha_inside: only its own module uses it: declare it in a private header
    src/alpha/alpha.c: alpha_lonely: only its own file uses it: make it static, or remove it
    include/wsc/alpha.h:22: alpha_inline: inline, and no other module uses it
END
expect unused beta </dev/null
expect tests_only <<'END'
    src/alpha/alpha.c: alpha_tested: outside its module only tests use it
END
expect libraries <<'END'
    src/beta/user.c: m_sin: belongs to alpha
    src/beta/user.c: curl_it: a library that libraries.txt does not know
END
expect owners <<'END'
    tests/lint/layers.txt: yaml.h: several owners: alpha gamma
END
expect cycles <<'END'
    src/alpha: cycle of files: alpha second; alpha -> second (second); second -> alpha (alpha_inside)
END
expect tags <<'END'
    include/wsc/alpha.h:10: tag widget does not start with alpha_
END
expect declarations <<'END'
    include/wsc/alpha.h:15: no comment of its own: int alpha_inside(int x);
    include/wsc/alpha.h:27: no comment of its own: #define ALPHA_PLAIN 3
    include/wsc/alpha.h:28: no comment of its own: enum alpha_kind { ALPHA_A, ALPHA_B };
END
expect words <<'END'
    include/wsc/alpha.h:11: begins with a reference: The same as b */
    src/alpha/alpha.c:11: begins with a reference: As it was. */
END
expect files <<'END'
    src/alpha/alpha.c:3: gone.c: no such file
    src/alpha/alpha.c:3: x.h: no such file
END
expect callers <<'END'
    src/beta/user.c: alpha.c does not call it
END
expect params <<'END'
    src/alpha/second.c:6: @p y: no parameter of the function below
END
expect heads <<'END'
    src/alpha/second.c: opening comment: 0 lines, 2 to 10 are wanted
END
expect names <<'END'
    tests/unit/second.c: the name of src/alpha/second.c
END
expect terms <<'END'
    include/wsc/alpha.h:20: write "after": int alpha_accepted(int x); /**< has one behind it */
    src/beta/user.c:2: write "after": /* Uses alpha, behind the option --behind and x_behind,
    src/beta/user.c:9: write "after": static const char *const text[] = {"behind", "what is behind"};
END
expect layers <<'END'
    include/wsc/alpha.h:5: alpha: <curl.h> has no owner in layers.txt
    include/wsc/mem.h:5: base: layer 0 may not include wsc/beta.h
    src/alpha/alpha.c:4: alpha: private header of another folder
    src/alpha/alpha.c:8: alpha: <sys/socket.h> has no owner in layers.txt
    src/beta/user.c:5: beta: <yaml.h> belongs to alpha gamma
END

# In the picture of the layers module_topic.h is a header of its module.
echo '#include <wsc/gamma_topic.h>' >src/beta/topic.c
sh "$here/layer_picture.sh" dot | grep -q ' beta -> gamma;' || {
    echo 'lint selftest: the picture lacks what a module includes by a further header'
    status=1
}
rm src/beta/topic.c

# As a whole: a limit that is kept, then one that is passed, then an acceptance out of date.
OBJ=obj sh "$here/check.sh" >/dev/null || { echo 'lint selftest: limits that are kept must pass'; status=1; }
echo 'tags 0 x' >tests/lint/limits.txt
! OBJ=obj sh "$here/check.sh" >/dev/null || { echo 'lint selftest: a limit that is passed must fail'; status=1; }
echo 'tags 1 x' >tests/lint/limits.txt
echo 'tags gone y' >>tests/lint/accepted.txt
! OBJ=obj sh "$here/check.sh" >/dev/null || { echo 'lint selftest: a stale acceptance must fail'; status=1; }
exit $status
