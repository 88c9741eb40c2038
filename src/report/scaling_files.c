// SPDX-License-Identifier: Apache-2.0
/* Writes the files of `wsc scale`: tables first, then pictures, then the page. A picture that
 * cannot be drawn does not stop the other files; its error is returned at the end. */
#include "scaling_output.h"

#include <wsc/file.h>

/* Draws every picture, also after one that cannot be drawn.  Returns the last error. */
static enum wsc_err draw_all(const char *dir, const struct report_view *v)
{
    const enum wsc_err curves = report_plot_write(dir, v);
    const enum wsc_err study = report_study_draw(dir, v->in);
    return study ? study : curves;
}

enum wsc_err report_scaling_write(const char *dir, const struct report_scaling *s)
{
    enum wsc_err rc, pictures = WSC_OK;
    struct report_view view;
    TRY(report_view_make(&view, s));
    TRY_GOTO(wsc_file_mkdir(dir), cleanup);
    TRY_GOTO(report_csv_write(dir, &view), cleanup);
    TRY_GOTO(report_study_write(dir, s), cleanup);
    pictures = draw_all(dir, &view);
    TRY_GOTO(report_html_write(dir, &view), cleanup);
cleanup:
    report_view_fini(&view);
    return rc ? rc : pictures;
}
