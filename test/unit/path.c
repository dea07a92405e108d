/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "tap/tap.h"

#define SAME(call, want)                                                               \
    do {                                                                               \
        char *got = (call);                                                            \
        is_str(got, want, "%s is %s", #call, want);                                    \
        free(got);                                                                     \
    } while (0)

static void joining(void)
{
    SAME(vel_path_join("/a", "b"), "/a/b");
    SAME(vel_path_join("/a/", "b/c"), "/a/b/c");
    SAME(vel_path_join("/", "b"), "/b");
    SAME(vel_path_join("", "b"), "b");
    SAME(vel_path_join("/a", "/b"), "/b");
    SAME(vel_path_level("/c/user/uuid", 2), "/c/user/uuid/index.2");
}

static void absolute(void)
{
    SAME(vel_path_absolute("/w/d", "f"), "/w/d/f");
    SAME(vel_path_absolute("/w/d", "./x/../f"), "/w/d/f");
    SAME(vel_path_absolute("/w/d", "../../../f"), "/f");
    SAME(vel_path_absolute("/w/d", "/a//b/./c/"), "/a/b/c");
    SAME(vel_path_absolute("/w/d", ".."), "/w");
    SAME(vel_path_absolute("/w/d", "../.."), "/");
    SAME(vel_path_absolute("/", ""), "/");
    SAME(vel_path_absolute("/w", "..."), "/w/...");
    SAME(vel_path_absolute("/w", ".hidden/..b"), "/w/.hidden/..b");
}

static void inner(void)
{
    static const char *const good[] = {"a", "a/b", ".a", "..a/b..", "a b/c"};
    static const char *const bad[] = {"",     "/",     "/a",   "a/",   "a//b", ".",
                                      "..",   "./a",   "../a", "a/..", "a/.",  "a/../b",
                                      "a\nb", "a\x7f", "\t",   "a/./b"};
    char longest[VEL_PATH_MAX + 1];

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ok(vel_path_is_inner(good[i]), "'%s' stays inside", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ok(!vel_path_is_inner(bad[i]), "bad path %zu is refused", i);
    memset(longest, 'a', sizeof longest);
    longest[VEL_PATH_MAX - 1] = '\0';
    ok(vel_path_is_inner(longest), "the longest path is good");
    longest[VEL_PATH_MAX - 1] = 'a';
    longest[VEL_PATH_MAX] = '\0';
    ok(!vel_path_is_inner(longest), "a longer one is refused");
}

static void parts(void)
{
    is_str(vel_path_below("/a/b", "/a/b/c/d"), "c/d", "what is below a directory");
    is_str(vel_path_below("/a/b", "/a/b"), "", "the directory itself");
    is_str(vel_path_below("/a/b", "/a/bc"), NULL,
           "a name that begins alike is not below");
    is_str(vel_path_below("/a/b", "/a"), NULL, "nor is what is above");
    is_str(vel_path_below("/", "/a/b"), "a/b", "everything is below the root");
    is_str(vel_path_below("/", "/"), "", "which is below itself");
    is_str(vel_path_base("/a/b"), "b", "the last name");
    is_str(vel_path_base("b"), "b", "the only name");
    is_str(vel_path_base("a/"), "", "no name behind a slash");
    SAME(vel_path_dir("/a/b"), "/a");
    SAME(vel_path_dir("/a"), "/");
    SAME(vel_path_dir("a"), ".");
    SAME(vel_path_dir("a/b/"), "a/b");
}

int main(void)
{
    joining();
    absolute();
    inner();
    parts();
    return done_testing();
}
