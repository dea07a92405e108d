/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "process/prerun_in.h"
#include "record/record.h"

enum { FORMAT = 1 };

int vel_prerun_roll(const struct vel_prerun *p, bool is_ours, struct vel_err *err)
{
    struct vel_node *body = vel_node_object(), *ids = vel_node_list();
    struct vel_buf path, nodes;
    bool is_made = body && ids;
    int rc;

    vel_buf_init(&path);
    vel_buf_init(&nodes);
    vel_buf_puts(&path, p->dir);
    if (is_ours)
        vel_buf_printf(&path, "/launch.%s", p->launch);
    for (int i = 0; i < p->of->nodes; i++)
        vel_buf_printf(&nodes, "%s%s", i > 0 ? " " : "", p->names[i]);
    for (size_t i = 0; is_made && i < p->brought.n; i++)
        is_made = vel_node_append_int(ids, *(int64_t *)vel_vec_at(&p->brought, i)) == 0;
    is_made = is_made && !vel_buf_status(&path, NULL) &&
              !vel_buf_status(&nodes, NULL) &&
              vel_node_set_text(body, "nodes", nodes.data) == 0;
    if (is_made) {
        is_made = vel_node_adopt(body, "datasets", ids) == 0;
        ids = NULL;
    }
    rc = is_made ? vel_fs_make_dirs(p->of->fs, path.data, 0700, err)
                 : vel_out_of_memory(err, "the tools");
    vel_buf_puts(&path, "/roll");
    if (rc == 0)
        rc = vel_buf_status(&path, err);
    if (rc == 0)
        rc = vel_record_save(p->of->fs, path.data, "roll", FORMAT, body, err);
    vel_node_destroy(ids);
    vel_node_destroy(body);
    vel_buf_fini(&path);
    vel_buf_fini(&nodes);
    return rc;
}
