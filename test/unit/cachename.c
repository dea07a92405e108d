/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "meta/cachename.h"
#include "tap/tap.h"

static void both_ways(const char *prefix, const char *path, const char *name)
{
    struct vel_err err = {0};
    char *got = NULL, *back = NULL;

    vel_cachename_of(prefix, path, &got, &err);
    is_str(got, name, "%s below %s", path, prefix);
    vel_cachename_path(prefix, got ? got : "", &back, &err);
    is_str(back, path, "and the name leads back to it");
    free(got);
    free(back);
}

static void names(void)
{
    both_ways("/p", "/p/x.h5", "x.h5");
    both_ways("/p", "/p/sub/dir/x.h5", "sub/dir/x.h5");
    both_ways("/p", "/pp/x.h5", "@/pp/x.h5");
    both_ways("/p", "/home/u/x.h5", "@/home/u/x.h5");
    both_ways("/p", "/p/@x", "@./@x");
    both_ways("/p", "/p/@/x", "@./@/x");
    both_ways("/p", "/p/@./@x", "@./@./@x");
    both_ways("/p", "/p/x@y", "x@y");
    both_ways("/", "/x.h5", "x.h5");
    both_ways("/p/@q", "/p/@q/x", "x");
    both_ways("/p", "/p/...", "...");
    both_ways("/p", "/p/\xff\xfe", "\xff\xfe");
}

static void refused_path(const char *path, const char *why)
{
    struct vel_err err = {0};
    char *name = NULL;

    is_int(vel_cachename_of("/p", path, &name, &err), VEL_EINVAL, "%s", why);
    ok(!name && err.text[0], "with a sentence, and no name");
}

static void no_files(void)
{
    char longest[VEL_PATH_MAX + 8];

    memset(longest, 'x', sizeof longest);
    memcpy(longest, "/p/", 3);
    refused_path("/p", "the prefix is no file");
    refused_path("/", "nor is the root");
    refused_path("/p/a\nb", "a name with a control character is not cached");
    longest[3 + VEL_PATH_MAX] = '\0';
    refused_path(longest, "nor one as long as no path may be");
    longest[3 + VEL_PATH_MAX - 1] = '\0';
    char *name = NULL;
    ok(vel_cachename_of("/p", longest, &name, NULL) == 0 &&
           strlen(name) == VEL_PATH_MAX - 1,
       "one byte less is");
    free(name);
}

static void hostile(void)
{
    static const char *const names[] = {
        "",      "/etc/passwd", "..",     "../x",  "a/../../x", "@",     "@x",
        "@.",    "@./",         "@./x",   "@/",    "@/../x",    "@/./x", "@//x",
        "@./@/", "@./@/../x",   "a//b",   "a/",    "./a",       "a/./b", "a\nb",
        "@../x", "@./../x",     "@./@x/", "x\x7f",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct vel_err err = {0};
        char *path = NULL;

        is_int(vel_cachename_path("/p", names[i], &path, &err), VEL_ECORRUPT,
               "'%s' in a record leads nowhere", names[i]);
        ok(!path && strstr(err.text, "no name of a cached file"), "says the sentence");
    }
}

int main(void)
{
    names();
    no_files();
    hostile();
    return done_testing();
}
