/* SPDX-License-Identifier: BSD-3-Clause */
/* planted - an MPI program that goes wrong on command, for the tests of the harness.
 *
 *   planted WHAT [NUMBER]: `what_rows` below says what there is. Rank 2 is the culprit.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

#include "tap/mtap.h"

enum { CULPRIT = 2 };

static bool is_culprit(void)
{
    return mtap_rank() == CULPRIT;
}

static int fail_on_one(int number)
{
    (void)number;
    mok(!is_culprit(), "nobody is rank 2");
    mis_int(mtap_rank() / 2, 0, "all ranks are below two");
    mok(mtap_rank() < 0, "no rank is left");
    return mtap_done();
}

static int stand_apart(int number)
{
    (void)number;
    if (is_culprit())
        mok(true, "rank 2 is here");
    else
        mok(true, "the others are there");
    return mtap_done();
}

static int hang(int number)
{
    (void)number;
    if (is_culprit()) {
        /* a grandchild in a session of its own, as an agent would be */
        if (fork() == 0) {
            setsid();
            pause();
        }
        pause();
    }
    mok(true, "everybody comes here");
    return mtap_done();
}

static int leave(int number)
{
    if (is_culprit())
        _exit(number);
    mok(true, "everybody comes here");
    return mtap_done();
}

static int exit_with(int number)
{
    mok(true, "everybody comes here"); /* so all have talked when they part */
    int bad = mtap_done();
    return number + bad;
}

static int forget_a_child(int number)
{
    (void)number;
    if (is_culprit() && fork() == 0) {
        setsid();
        for (int fd = 0; fd < 1024; fd++)
            close(fd); /* launchers wait for the end of the output */
        pause();
    }
    mok(true, "the job ends");
    return mtap_done();
}

static const struct {
    const char *what;
    int (*act)(int number);
} what_rows[] = {
    {"fail", fail_on_one},      /* on some ranks */
    {"apart", stand_apart},     /* ranks at different checks */
    {"hang", hang},             /* with a grandchild that hangs, too */
    {"leave", leave},           /* with status NUMBER, while others wait */
    {"exit", exit_with},        /* all, with status NUMBER */
    {"forget", forget_a_child}, /* that outlives the job */
};

int main(int argc, char **argv)
{
    mtap_init(&argc, &argv);
    for (size_t i = 0; argc > 1 && i < sizeof what_rows / sizeof *what_rows; i++)
        if (strcmp(what_rows[i].what, argv[1]) == 0)
            return what_rows[i].act(argc > 2 ? atoi(argv[2]) : 0);
    fprintf(stderr, "planted: I do not know what to do\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
}
