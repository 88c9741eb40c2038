// SPDX-License-Identifier: Apache-2.0
/* Puts page.css and page.js into the program, so that every HTML page carries both and is one
 * file. The assembler includes the texts; paths are relative to the top of the tree, where make
 * runs. Used by html_page.c. */
#include "html_assets.h"

/* Global and hidden, as in machine_builtin.c. */
__asm__(".section .rodata\n"
        ".globl report_style_text, report_script_text\n"
        ".hidden report_style_text, report_script_text\n"
        "report_style_text:\n"
        "    .incbin \"src/report/page.css\"\n"
        "    .byte 0\n"
        "report_script_text:\n"
        "    .incbin \"src/report/page.js\"\n"
        "    .byte 0\n"
        ".text\n");

extern __attribute__((visibility("hidden"))) const char report_style_text[], report_script_text[];

const char *report_page_style(void)
{
    return report_style_text;
}

const char *report_page_script(void)
{
    return report_script_text;
}
