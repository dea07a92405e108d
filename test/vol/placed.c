/* SPDX-License-Identifier: BSD-3-Clause */
/* placed COMMAND ARGUMENTS...: run it where a leader takes all its files into a cache,
 * with this directory as the prefix. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap/placelab.h"
#include "tap/tap.h"

int main(int argc, char **argv)
{
    static struct placelab lab;
    char dir[1000];
    int status = -1;
    pid_t pid;

    if (argc < 2 || !getcwd(dir, sizeof dir))
        bail_out("usage: placed COMMAND ARGUMENTS...");
    placelab_start(&lab);
    setenv("VELOC_PREFIX", dir, 1);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    placelab_end(&lab);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}
