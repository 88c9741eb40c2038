// SPDX-License-Identifier: Apache-2.0
/* `wsc reproduce` as users run it: published numbers come from the rows and from nowhere else,
 * curves are those of `wsc scale`, ranks share the work without a change of a byte. */
#include "../support/test.h"
#include "small_job.h"
#include "spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFERENCE "benchmarks/reference"

/* A folder of reference files with two exhibits of a small model and one row. */
static const char *reference(const char *published)
{
    const char *dir = job_path("reference");
    CU_ASSERT_TRUE_FATAL(
        spawn_ok("mkdir -p %s && head -n 1 " REFERENCE "/single_system.csv > %s/rows.csv && "
                 "grep '^usc_256m_b128,' " REFERENCE "/single_system.csv | sed 's/,157,/,%s,/' "
                 ">> %s/rows.csv && "
                 "printf 'exhibits:\\n"
                 "  - {id: hours, picture: ratios, title: Hours, rows: usc_*}\\n"
                 "  - {id: curve, picture: systems, title: Curve, rows: usc_*, models: gpt3_256m, "
                 "cluster: cs2, num_csx: [1, 2, 4], measured_to: 2}\\n"
                 "  - {id: batches, picture: batches, title: Batches, models: gpt3_111m, "
                 "cluster: cs2, batch: [30, 60]}\\n' > %s/exhibits.yaml",
                 dir, dir, published, dir, dir));
    return dir;
}

static void read_field(const char *file, int line, int column, char *text, size_t size)
{
    struct spawn_result r;
    spawn_run(&r, "sed -n %dp %s | cut -d, -f%d | tr -d '\\n'", line, file, column);
    T_EQ(r.status, 0);
    (void)snprintf(text, size, "%s", r.out);
    spawn_free(&r);
}

enum { PUBLISHED = 8, PREDICTED = 9, ERROR_PERCENT = 10 };

TEST(reproduce, published_numbers_are_those_of_the_rows)
{
    char before[3][40], after[3][40], file[256];
    const char *out = job_path("reproduced");
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_TRUE_FATAL(spawn_ok("\"$WSC\" reproduce --reference %s --out %s --only hours",
                                      reference(i ? "314" : "157"), out));
        (void)snprintf(file, sizeof file, "%s/hours.csv", out);
        for (int k = 0; k < 3; k++)
            read_field(file, 2, PUBLISHED + k, i ? after[k] : before[k], sizeof before[k]);
    }
    T_STR(before[0], "157.0");
    T_STR(after[0], "314.0");
    T_STR(before[1], after[1]);
    CU_ASSERT_STRING_NOT_EQUAL(before[2], after[2]);
}

/* Figures in titles and notes are those of the rows too; another row has the same samples, half the
 * hours. */
TEST(reproduce, texts_have_the_figures_of_the_rows)
{
    const char *out = job_path("texts");
    for (int i = 0; i < 2; i++) {
        const char *dir = reference(i ? "314" : "157");
        CU_ASSERT_TRUE_FATAL(
            spawn_ok("sed -n 's/usc_256m_b128,/half,/; $s/,157,\\|,314,/,78.5,/p' %s/rows.csv "
                     ">%s.half && cat %s.half >>%s/rows.csv && "
                     "sed -i 's/title: Hours/title: \"{usc_256m_b128} hours\", note: "
                     "\"{usc_256m_b128\\/half} times\"/' %s/exhibits.yaml && "
                     "\"$WSC\" reproduce hours --reference %s --out %s",
                     dir, dir, dir, dir, dir, dir, out));
        CU_ASSERT(spawn_ok("grep -q '<h2>%s hours</h2>' %s/reproduction.html && "
                           "grep -q '<p>%s times</p>' %s/reproduction.html",
                           i ? "314" : "157", out, i ? "4" : "2", out));
    }
}

/* Rows of 1024 tokens, of two systems and with overrides are named and not drawn; the axis
 * has room for a row beyond the curve. */
TEST(reproduce, rows_of_other_conditions_are_not_drawn)
{
    const char *out = job_path("conditions"), *dir = reference("157");
    CU_ASSERT_TRUE_FATAL(spawn_ok(
        "cd %s && head -1 rows.csv >head && sed -n "
        "'2s/,gpt3_256m,1,128,,128,/,gpt3_111m,1,90,,auto,/p' "
        "rows.csv >row && "
        "(cat head; sed 's/^[^,]*/same/; s/,90,/,240,/' row; sed 's/^[^,]*/short/; "
        "s/,2048,/,1024,/' row; sed 's/^[^,]*/two/; s/,1,90,/,2,90,/' row; sed 's/^[^,]*/bare/; "
        "s/,cs2,,/,cs2,model.use_ffn_bias=false,/' row) >other.csv && "
        "sed -i 's/cluster: cs2, batch/rows: same short two bare, &/' exhibits.yaml",
        dir));
    CU_ASSERT(spawn_ok("\"$WSC\" reproduce batches --reference %s --out %s", dir, out));
    CU_ASSERT(
        spawn_ok("grep -q 'Not in the picture, for other conditions: short (1024 tokens), two "
                 "(2 systems), bare (model.use_ffn_bias=false)\\.' %s/reproduction.html",
                 out));
    CU_ASSERT(
        spawn_ok("cd %s && test $(sed -n '/^$s0/,/^EOD/p' batches.gp | grep -c '^[0-9]') = 1 && "
                 "grep -q '^240 ' batches.gp && grep -q '^set xrange .0:252' batches.gp",
                 out));
}

/* gnuplot takes the label of a tick for a format of its position. */
TEST(reproduce, ids_with_percent_signs_are_drawn)
{
    const char *out = job_path("percent"), *dir = reference("157");
    CU_ASSERT_TRUE_FATAL(spawn_ok("sed -i 's/^usc_256m_b128,/usc_90%%g,/' %s/rows.csv && "
                                  "\"$WSC\" reproduce hours --reference %s --out %s",
                                  dir, dir, out));
    CU_ASSERT(spawn_ok("grep -q '>usc_90%%g<' %s/hours.svg", out));
}

/* A compared row that no exhibit has is named, unless exhibits were chosen. */
TEST(reproduce, rows_without_an_exhibit_are_named)
{
    struct spawn_result r;
    const char *out = job_path("missing"), *dir = reference("157");
    CU_ASSERT_TRUE_FATAL(spawn_ok("cd %s && sed '2s/^[^,]*/lone/' rows.csv >more.csv", dir));
    for (int i = 0; i < 2; i++) {
        spawn_run(&r, "\"$WSC\" reproduce --reference %s --out %s %s", dir, out, i ? "hours" : "");
        CU_ASSERT((strstr(r.err, "no exhibit has the rows lone; wsc validate") != NULL) == !i);
        spawn_free(&r);
    }
}

/* The table of the page has the numbers of the CSV file: published, predicted, band. */
TEST(reproduce, the_page_has_the_numbers_of_the_file)
{
    const char *out = job_path("page");
    CU_ASSERT_TRUE_FATAL(
        spawn_ok("\"$WSC\" reproduce --reference %s --out %s --only hours", reference("157"), out));
    CU_ASSERT(spawn_ok(
        "cd %s && tr -d '\\n' <reproduction.html | sed 's/<tr>/\\n&/g' >page && "
        "awk -F, 'NR > 1 { printf \"%%s %%.4g %%.4g %%.4g..%%.4g\\n\", $1, $8, $9, $13, $14 }' "
        "hours.csv >rows && test $(wc -l <rows) = 1 && while read -r id published predicted band; "
        "do grep -q \"$id<.*>$published<.*>$predicted<.*>$band<\" page || exit 1; done <rows",
        out));
}

/* Exhibits by their names alone are those of `--only`; one without rows has curves alone. */
TEST(reproduce, named_exhibits_are_those_of_only)
{
    const char *only = job_path("only"), *named = job_path("named"), *from = reference("157");
    CU_ASSERT_TRUE_FATAL(
        spawn_ok("\"$WSC\" reproduce --reference %s --out %s --only batches,hours", from, only));
    CU_ASSERT_TRUE_FATAL(
        spawn_ok("\"$WSC\" reproduce hours --reference %s --out %s batches", from, named));
    CU_ASSERT_TRUE(spawn_ok("test \"$(ls %s)\" = \"$(ls %s)\"", only, named));
    CU_ASSERT_TRUE(spawn_ok("for f in %s/*.csv %s/*.gp %s/*.svg; do cmp $f %s/$(basename $f); done",
                            only, only, only, named));
    CU_ASSERT_TRUE(spawn_ok("cd %s && test -s hours.csv && test -s batches_curves.csv && "
                            "! test -e batches.csv && ! test -e curve_curves.csv",
                            named));
}

TEST(reproduce, an_exhibit_without_rows_has_curves_alone)
{
    const char *out = job_path("reproduced"), *from = reference("157");
    CU_ASSERT_TRUE_FATAL(
        spawn_ok("sed -i '/rows:/d' %s/exhibits.yaml && \"$WSC\" reproduce --reference %s "
                 "--out %s >%s.txt",
                 from, from, out, out));
    CU_ASSERT_TRUE(spawn_ok("cd %s && test \"$(echo *.csv)\" = batches_curves.csv && "
                            "test $(wc -l <batches_curves.csv) -eq 3",
                            out));
    CU_ASSERT_TRUE(spawn_ok("grep -q '^0 of 0 predictions lie outside' %s.txt", out));
}

/* Columns of band and tolerance are those of `wsc validate`, and no band of a row or a curve
 * depends on which exhibits are drawn: the fitted rows of others count too. */
TEST(reproduce, bands_are_those_of_the_comparison)
{
    const char *one = job_path("one"), *all = job_path("all"), *dir = reference("157");
    CU_ASSERT_TRUE_FATAL(
        spawn_ok("grep -E '^usc_(256m_b256|13b_b128|13b_b256),' " REFERENCE
                 "/single_system.csv >>%s/rows.csv && "
                 "sed -i 's/usc_\\*/usc_256m_b128/; $a\\  - {id: other, picture: ratios, title: "
                 "Other, rows: usc_256m_b256 usc_13b_*}' %s/exhibits.yaml && "
                 "\"$WSC\" reproduce curve --reference %s --out %s >%s.txt && "
                 "\"$WSC\" reproduce --reference %s --out %s >/dev/null && "
                 "\"$WSC\" validate --reference %s --out %s >/dev/null",
                 dir, dir, dir, one, one, dir, all, dir, all));
    CU_ASSERT_TRUE(
        spawn_ok("for f in curve.csv curve_curves.csv; do cmp %s/$f %s/$f; done", one, all));
    CU_ASSERT_TRUE(spawn_ok("grep -q ' of 1 predictions lie outside' %s.txt", one));
    static const char *const column[] = {"accepted_low", "accepted_high", "band_low", "band_high"};
    for (int i = 0; i < 4; i++) {
        struct spawn_result here, there;
        static const char cell[] =
            "awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == \"%s\") c "
            "= i } NR == 2 { print $c }' %s/%s";
        spawn_run(&here, cell, column[i], one, "curve.csv");
        spawn_run(&there, cell, column[i], all, "validation.csv");
        CU_ASSERT(strtod(here.out, NULL) > 0);
        T_STR(here.out, there.out);
        spawn_free(&here);
        spawn_free(&there);
    }
}

/* Files of other exhibits, of exhibits.yaml or not, and of what an exhibit no longer has are named,
 * and those that this command writes are not. */
TEST(reproduce, files_of_other_exhibits_are_named)
{
    struct spawn_result r;
    const char *out = job_path("others"), *from = reference("157");
    CU_ASSERT_TRUE_FATAL(spawn_ok("mkdir -p %s && cd %s && : >hours.csv && : >curve_curves.csv && "
                                  ": >batches.svg && : >batches.csv && : >gone.png && : >own.txt",
                                  out, out));
    spawn_run(&r, "\"$WSC\" reproduce batches --reference %s --out %s", from, out);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, ": batches.csv, curve_curves.csv, gone.png, hours.csv: of "
                                         "an earlier run, not of this one; hint: "));
    spawn_free(&r);
    spawn_run(&r, "rm %s/batches.csv %s/gone.png && \"$WSC\" reproduce --reference %s --out %s",
              out, out, from, out);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NULL(strstr(r.err, "earlier"));
    spawn_free(&r);
}

TEST(reproduce, curves_are_those_of_scale)
{
    char here[40], there[40], file[256];
    const char *out = job_path("reproduced"), *scale = job_path("scaled");
    CU_ASSERT_TRUE_FATAL(
        spawn_ok("\"$WSC\" reproduce --reference %s --out %s --only curve", reference("157"), out));
    CU_ASSERT_TRUE_FATAL(
        spawn_ok("\"$WSC\" scale --params configs/params/gpt3_256m.yaml --num_csx 1,2,4 --out %s "
                 "--cluster configs/cluster/cs2.yaml",
                 scale));
    for (int line = 2; line <= 4; line++) {
        struct spawn_result r;
        (void)snprintf(file, sizeof file, "%s/curve_curves.csv", out);
        read_field(file, line, 6, here, sizeof here);
        spawn_run(&r,
                  "awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == \"tokens_per_s\") c = "
                  "i } NR == %d { printf \"%%s\", $c }' %s/scaling.csv",
                  line, scale);
        (void)snprintf(there, sizeof there, "%s", r.out);
        spawn_free(&r);
        T_STR(here, there);
    }
}

TEST(reproduce, rows_that_are_not_compared_have_a_symbol_of_their_own)
{
    const char *out = job_path("symbols");
    CU_ASSERT_TRUE_FATAL(spawn_ok("\"$WSC\" reproduce --out %s --only bert_pretraining", out));
    CU_ASSERT_TRUE(
        spawn_ok("test $(grep -c '^[0-9]* [0-9.]* 8$' %s/bert_pretraining.gp) = 1", out));
    CU_ASSERT_TRUE(
        spawn_ok("test $(grep -c '^[0-9]* [0-9.]* 4$' %s/bert_pretraining.gp) = 4", out));
    CU_ASSERT_TRUE(spawn_ok("grep -q 'published, context' %s/bert_pretraining.gp", out));
}

TEST(reproduce, ranks_change_no_byte)
{
    const char *one = job_path("one"), *two = job_path("two"), *from = reference("157");
    CU_ASSERT_TRUE_FATAL(spawn_ok("\"$WSC\" reproduce --reference %s --out %s", from, one));
    CU_ASSERT_TRUE_FATAL(spawn_ok(
        "mpirun --quiet -n 2 \"$WSC\" reproduce --reference %s --out %s 2>/dev/null", from, two));
    CU_ASSERT_TRUE(
        spawn_ok("for f in %s/*.csv %s/*.gp; do cmp $f %s/$(basename $f); done", one, one, two));
}

/* A table that does not fit below its picture continues under the title and the heads of its
 * columns; bounds are in the table alone; an exhibit without predictions prints its rows. */
TEST(reproduce, long_tables_and_tables_without_predictions_are_whole)
{
    const char *out = job_path("long_tables");
    struct spawn_result r;
    spawn_run(&r, "\"$WSC\" reproduce gpt_epoch_hours machines throughput_against_systems --out %s",
              out);
    T_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "\n  cg1_cores "));
    CU_ASSERT_TRUE(spawn_ok("! grep boundary %s/gpt_epoch_hours.gp", out));
    CU_ASSERT_TRUE(spawn_ok("grep -q boundary %s/gpt_epoch_hours.csv", out));
    CU_ASSERT_TRUE(spawn_ok("grep -q \"(continued)'\" %s/reproduction.gp", out));
    spawn_free(&r);
}

/* One file without network, and a PDF with a page for each exhibit. */
TEST(reproduce, page_and_pdf_are_whole)
{
    const char *out = job_path("reproduced");
    CU_ASSERT_TRUE_FATAL(
        spawn_ok("\"$WSC\" reproduce --reference %s --out %s", reference("157"), out));
    CU_ASSERT_TRUE(spawn_ok("! grep -E \"(src|href)=.?(https?:)?//\" %s/reproduction.html", out));
    CU_ASSERT_TRUE(spawn_ok("test $(grep -c '<h2>' %s/reproduction.html) -ge 5", out));
    CU_ASSERT_TRUE(spawn_ok("test $(grep -c '<svg' %s/reproduction.html) -eq 3", out));
    CU_ASSERT_TRUE(spawn_ok("test $(strings %s/reproduction.pdf | grep -c '/Type /Page$') -eq 3 || "
                            "test $(strings %s/reproduction.pdf | grep -c '/Type /Page ') -eq 3",
                            out, out));
}

TEST(reproduce, what_is_wrong_is_named)
{
    struct spawn_result r;
    const char *dir = reference("157");
    spawn_run(&r, "\"$WSC\" reproduce --reference %s --out %s --only pie", dir, job_path("x"));
    T_EQ(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "one of hours, curve, batches"));
    spawn_free(&r);
    static const char *const names[][2] = {
        {"hours,curve", "\"hours,curve\": no exhibit of that name"},
        {"hours,", "\"hours,\": no exhibit of that name"},
        {"--only hours,", "--only: an item of the list \"hours,\""}};
    for (int i = 0; i < 3; i++) {
        spawn_run(&r, "\"$WSC\" reproduce --reference %s --out %s %s", dir, job_path("x"),
                  names[i][0]);
        T_EQ(r.status, 2);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.err, names[i][1]));
        spawn_free(&r);
    }
    spawn_run(&r,
              "sed -i 's/rows: usc_\\*}/rows: alcf_*}/' %s/exhibits.yaml && "
              "\"$WSC\" reproduce --reference %s --out %s",
              dir, dir, job_path("x"));
    T_EQ(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "exhibit hours: no published figure matches \"alcf_*\""));
    spawn_free(&r);
    static const char *const titles[][2] = {
        {"{nowhere} h",
         "exhibits.yaml:2:41: exhibit hours: no published figure is named \"nowhere\""},
        {"{usc_256m_b128", "exhibits.yaml:2:41: exhibit hours: no } after \"{usc_256m_b128\""}};
    for (int i = 0; i < 2; i++) {
        spawn_run(&r,
                  "sed -i 's/title: .*, rows: alcf/title: \"%s\", rows: alcf/' %s/exhibits.yaml && "
                  "\"$WSC\" reproduce --reference %s --out %s",
                  titles[i][0], dir, dir, job_path("x"));
        T_EQ(r.status, 2);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.err, titles[i][1]));
        spawn_free(&r);
    }
}
