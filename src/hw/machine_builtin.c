// SPDX-License-Identifier: Apache-2.0
/* configs/cluster/cs2.yaml as part of the program: the machine of a run that names no file.  The
 * assembler includes the text, so there is no generated source.  Read by machine_file.c. */
#include "machine_parts.h"

/* The file itself becomes part of the program, so that there is one text to maintain.  The path is
 * relative to the repository root, where make runs.  The labels are global and hidden: of a local
 * one the linker for aarch64 finds the section and not the place in it. */
__asm__(".section .rodata\n"
        ".globl hw_builtin_cs2_text, hw_builtin_cs2_end\n"
        ".hidden hw_builtin_cs2_text, hw_builtin_cs2_end\n"
        "hw_builtin_cs2_text:\n"
        "    .incbin \"configs/cluster/cs2.yaml\"\n"
        "hw_builtin_cs2_end:\n"
        "    .byte 0\n"
        ".text\n");

extern __attribute__((visibility("hidden"))) const char hw_builtin_cs2_text[], hw_builtin_cs2_end[];

const char *hw_builtin_cs2(size_t *n_bytes)
{
    /* cppcheck-suppress comparePointers ; both are labels of the one text above */
    *n_bytes = (size_t)(hw_builtin_cs2_end - hw_builtin_cs2_text);
    return hw_builtin_cs2_text;
}
