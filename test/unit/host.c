/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "sys/host.h"
#include "tap/tap.h"

static void names(void)
{
    char longest[202];

    memset(longest, 'n', sizeof longest);
    longest[200] = '\0';
    ok(vel_host_is_name("node7.cluster-a_1.v2"), "letters, digits and ._- make a name");
    ok(vel_host_is_name(longest), "200 bytes make a name");
    longest[200] = 'n';
    longest[201] = '\0';
    ok(!vel_host_is_name(longest), "201 do not");
    ok(!vel_host_is_name(""), "nor does nothing");
    ok(!vel_host_is_name("..") && !vel_host_is_name(".hidden"), "nor a dot in front");
    ok(!vel_host_is_name("-f"), "nor what looks like an option");
    ok(!vel_host_is_name("a/b") && !vel_host_is_name("a b") && !vel_host_is_name("a\n"),
       "nor what a path or a line would trip over");
    ok(vel_host_is_beside("vm.v0", "vm.v12") && vel_host_is_beside("vm", "vm"),
       "virtual nodes of one machine are beside each other");
    ok(!vel_host_is_beside("vm.v0", "vn.v0") && !vel_host_is_beside("vm.w0", "vm.w1") &&
           !vel_host_is_beside("vm.v0", "vm.v"),
       "others are not");
}

static void ourselves(void)
{
    struct vel_host host = {0};
    struct vel_err err = {0};
    char real[256] = "";

    is_int(vel_host_init(&host, &err), 0, "we know who we are");
    gethostname(real, sizeof real - 1);
    is_str(host.node, real, "the node is called like its machine");
    ok(host.user && vel_host_is_name(host.user), "the user has a name: %s", host.user);
    is_int(vel_host_set_node(&host, "node7.v1", &err), 0, "the node gets another name");
    is_str(host.node, "node7.v1", "and has it");
    is_int(vel_host_set_node(&host, "../evil", &err), VEL_EINVAL,
           "but not one that leads elsewhere");
    ok(strstr(err.text, "../evil") != NULL, "the sentence names it");
    is_str(host.node, "node7.v1", "and it keeps the old one");
    vel_host_fini(&host);
    vel_host_fini(&host);
    ok(!host.node && !host.user, "ending it twice does no harm");
}

static void processes(void)
{
    struct vel_process process, then;
    struct vel_err err = {0};

    is_int(vel_host_process(vel_fs_posix(), getpid(), &process, &err), 0,
           "the system tells of a process");
    ok(process.parent == getppid() && process.start > 0, "who started it, and when");
    do {
        vel_host_process(vel_fs_posix(), getpid(), &then, &err);
    } while (then.worked == process.worked);
    ok(then.worked > process.worked && then.start == process.start,
       "and how long it has worked");
    is_int(vel_host_process(vel_fs_posix(), (int64_t)1 << 40, &process, &err),
           VEL_ENOENT, "of one that there is not, nothing");
}

static void unknown_user(void)
{
    struct vel_host host = {0};

    if (geteuid() != 0 || seteuid(3999999) < 0) {
        skip(1, "only root can be a user without a name");
        return;
    }
    vel_host_init(&host, NULL);
    is_str(host.user, "uid3999999", "a user without a name is called by number");
    vel_host_fini(&host);
    if (seteuid(0) < 0)
        bail_out("cannot become root again");
}

int main(void)
{
    names();
    ourselves();
    processes();
    unknown_user();
    return done_testing();
}
