/* SPDX-License-Identifier: BSD-3-Clause */
/* Replay: a fuzz target on every file of its corpus, and on every beginning of each,
 * without libFuzzer. The corpus is $top_srcdir/test/fuzz/corpus/<name of this program>.
 */
#include "config.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "tap/files.h"
#include "tap/tap.h"

enum { INPUT_MOST = 1 << 20, PREFIXES_MOST = 2048 };

/* The target on exactly these bytes, so that a sanitizer sees a read behind them. */
static void run(const uint8_t *bytes, size_t len)
{
    uint8_t *exact = malloc(len ? len : 1);

    if (!exact)
        bail_out("out of memory");
    memcpy(exact, bytes, len);
    LLVMFuzzerTestOneInput(exact, len);
    free(exact);
}

static void replay(const char *dir, const char *name)
{
    static uint8_t bytes[INPUT_MOST + 1];
    char path[2048];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        bail_out("cannot read %s", path);
    size_t len = fread(bytes, 1, INPUT_MOST, file);
    fclose(file);
    bytes[len] = '\0';
    if (strstr(name, ".hex"))
        len = tap_decode_hex(bytes, len, INPUT_MOST);
    run(bytes, len);
    for (size_t n = 0; n < len && n < PREFIXES_MOST; n++)
        run(bytes, n);
    ok(true, "%s and its beginnings do no harm", name);
}

int main(int argc, char **argv)
{
    const char *source = getenv("top_srcdir");
    const char *slash = strrchr(argv[0], '/');
    char dir[1024];
    struct dirent *entry;

    (void)argc;
    const char *name = slash ? slash + 1 : argv[0];

    snprintf(dir, sizeof dir, "%s/test/fuzz/corpus/%.*s", source ? source : ".",
             (int)strcspn(name, "."), name);
    DIR *d = opendir(dir);
    if (!d)
        bail_out("there is no corpus %s", dir);
    while ((entry = readdir(d)))
        if (entry->d_name[0] != '.')
            replay(dir, entry->d_name);
    closedir(d);
    return done_testing();
}
