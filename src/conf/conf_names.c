// SPDX-License-Identifier: Apache-2.0
/* How messages name what a user wrote: texts and key paths cut to a bounded length with control
 * characters replaced, and `cluster.` paths of --set as paths inside the machine file.  Used by the
 * messages of conf_diag.c and of all readers. */
#include "conf_names.h"

#include <ctype.h>
#include <string.h>

/* Copy into @p out, cut with "..." and with control characters as `?`: a file's text must not move
 * the cursor of the terminal that shows the message. */
static const char *quote(const char *text, char *out, size_t size)
{
    static const char dots[] = "...";
    const size_t most = size - sizeof dots - 2; /* room for quotes */
    size_t n = strnlen(text, most + 1);
    bool cut = n > most;
    if (cut) n = most;
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(iscntrl((unsigned char)text[i]) ? '?' : text[i]);
    memcpy(out + n, cut ? dots : "", cut ? sizeof dots : 1);
    return out;
}

const char *conf_quote(const char *text, char out[CONF_QUOTE_BYTES])
{
    return quote(text, out, CONF_QUOTE_BYTES);
}

const char *conf_quote_path(const char *text, char out[CONF_QUOTE_PATH_BYTES])
{
    return quote(text, out, CONF_QUOTE_PATH_BYTES);
}

const char *conf_set_cluster_path(const char *path)
{
    static const char prefix[] = "cluster.";
    return strncmp(path, prefix, sizeof prefix - 1) ? NULL : path + sizeof prefix - 1;
}
