/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "base/map.h"
#include "topo/ask_first.h"
#include "topo/rankstr.h"

/* A text is known by the record of the first rank that gave it. */
static int number(struct vel_map *firsts, const char *const *texts, size_t n,
                  struct vel_rankstr *ret, struct vel_err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct vel_rankstr *first = vel_map_get(firsts, texts[i]);

        ret[i] = (struct vel_rankstr){.group = first ? first->group
                                                     : (uint32_t)vel_map_count(firsts)};
        if (!first && vel_map_set(firsts, texts[i], &ret[i], NULL) < 0)
            return vel_out_of_memory(err, "the texts of all ranks");
        first = first ? first : &ret[i];
        ret[i].rank = first->ranks++;
    }
    for (size_t i = 0; i < n; i++) {
        ret[i].groups = (uint32_t)vel_map_count(firsts);
        ret[i].ranks = ((struct vel_rankstr *)vel_map_get(firsts, texts[i]))->ranks;
    }
    return 0;
}

int vel_rankstr_all(const char *const *texts, size_t n, struct vel_rankstr *ret,
                    struct vel_err *err)
{
    struct vel_map *firsts = vel_map_create();
    int rc = firsts ? number(firsts, texts, n, ret, err)
                    : vel_out_of_memory(err, "the texts of all ranks");

    vel_map_destroy(firsts, NULL);
    return rc;
}

static int answer(void *arg, const char *const *texts, size_t n, void *ret_records,
                  struct vel_err *err)
{
    (void)arg;
    return vel_rankstr_all(texts, n, ret_records, err);
}

int vel_rankstr(struct vel_comm *comm, const char *text, struct vel_rankstr *ret,
                struct vel_err *err)
{
    size_t len = strnlen(text, VEL_RANKSTR_MAX + 1);
    int rc = 0;

    if (len > VEL_RANKSTR_MAX)
        rc = vel_fail(err, VEL_EINVAL, "a text of more than %d bytes: \"%.40s...\"",
                      VEL_RANKSTR_MAX, text);
    rc = vel_comm_agree(comm, rc, err);
    return rc < 0 ? rc : vel_ask_first(comm, text, answer, NULL, ret, sizeof *ret, err);
}
