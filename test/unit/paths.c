/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>

#include "meta/paths.h"
#include "tap/tap.h"

static void path_is(char *got, const char *want)
{
    is_str(got, want, "%s lies where doc/engine.txt says", want);
    free(got);
}

static void number(const char *name, int64_t want)
{
    int64_t n = 77;
    bool is_one = vel_number_behind(name, "dataset.", &n);

    ok(is_one == (want >= 0) && n == (want >= 0 ? want : 77),
       want >= 0 ? "'%s' has its number" : "'%s' has none", name);
}

int main(void)
{
    path_is(vel_veloc_dir("/p"), "/p/.veloc");
    path_is(vel_dataset_dir("/p/.veloc", 12), "/p/.veloc/dataset.12");
    path_is(vel_dropped_path("/p/.veloc", 12), "/p/.veloc/dropped.12");
    path_is(vel_files_path("/p/.veloc", 12, 3), "/p/.veloc/dataset.12/files.3");
    path_is(vel_container_path("/p/.veloc", 12, 3), "/p/.veloc/dataset.12/container.3");
    path_is(vel_cache_dataset_dir("/c/index.1", INT64_MAX),
            "/c/index.1/dataset.9223372036854775807");
    path_is(vel_cache_rank_dir("/c/index.1", 12, 3), "/c/index.1/dataset.12/rank.3");
    path_is(vel_cache_aside_path("/c/index.1", 12), "/c/index.1/dataset.12/aside");
    number("dataset.0", 0);
    number("dataset.12", 12);
    number("dataset.922337203685477579", 922337203685477579);
    number("dataset.", -1);
    number("dataset", -1);
    number("", -1);
    number("dataset.00", -1);
    number("dataset.012", -1);
    number("dataset.+1", -1);
    number("dataset.-1", -1);
    number("dataset. 1", -1);
    number("dataset.1.tmp", -1);
    number("Dataset.1", -1);
    number("dataset.9223372036854775808", -1);
    number("dataset.18446744073709551617", -1);
    number("dataset.99999999999999999999999999", -1);
    return done_testing();
}
