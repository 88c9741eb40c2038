/** Style sheet and script of all pages as texts: page.css and page.js, which html_assets.c has in
 * the program, so that a page is one file.  Used by the writers of pages (html_*.c). */
#ifndef WSC_HTML_ASSETS_H
#define WSC_HTML_ASSETS_H

/** page.css, both themes. */
const char *report_page_style(void);
/** page.js, which html_page.c puts at the end of a page. */
const char *report_page_script(void);
#endif
