/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "topo/same.h"

enum { LINE_MAX_SHOWN = 200 };

/* the line of text in which `at` lies */
static const char *line_at(const char *text, size_t at, int *ret_len)
{
    static const char none[] = "none";
    size_t begin = at;

    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    const char *line = text[begin] ? text + begin : none;
    *ret_len = (int)strcspn(line, "\n");
    if (*ret_len > LINE_MAX_SHOWN)
        *ret_len = LINE_MAX_SHOWN;
    return line;
}

static int compare(const char *what, const char *mine, const char *root,
                   struct vel_err *err)
{
    size_t at = 0;
    int mine_len, root_len;

    if (strcmp(mine, root) == 0)
        return 0;
    while (mine[at] == root[at])
        at++;
    const char *mine_line = line_at(mine, at, &mine_len);
    const char *root_line = line_at(root, at, &root_len);
    return vel_fail(err, VEL_ECONFIG,
                    "the %s here (%.*s) are not those of rank 0 (%.*s): give all ranks "
                    "the same settings",
                    what, mine_len, mine_line, root_len, root_line);
}

int vel_topo_same(struct vel_comm *world, const char *what, const struct vel_buf *text,
                  int rc, struct vel_err *err)
{
    struct vel_buf root;

    vel_buf_init(&root);
    if (rc == 0)
        rc = vel_buf_status(text, err);
    if (rc == 0 && world->rank == 0) {
        vel_buf_puts(&root, vel_buf_text(text));
        rc = vel_buf_status(&root, err);
    }
    rc = vel_comm_agree(world, rc, err);
    if (rc == 0)
        rc = vel_comm_bcast(world, 0, &root, err);
    if (rc == 0) {
        rc = compare(what, vel_buf_text(text), vel_buf_text(&root), err);
        rc = vel_comm_agree(world, rc, err);
    }
    vel_buf_fini(&root);
    return rc;
}
