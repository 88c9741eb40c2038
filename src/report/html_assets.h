/** Style sheet and script of all pages, page.css and page.js, as texts (html_assets.c). */
#ifndef WSC_HTML_ASSETS_H
#define WSC_HTML_ASSETS_H

/** page.css, both themes. */
const char *report_page_style(void);
/** page.js, which html_page.c puts at the end of a page. */
const char *report_page_script(void);
#endif
