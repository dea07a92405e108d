/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>

#include "base/path.h"
#include "meta/current.h"
#include "meta/index.h"
#include "meta/ids.h"
#include "record/record.h"

enum { FORMAT = 1 };

/* What was chosen, when datasets up to `above` had been made. */
struct choice {
    int64_t id, above;
};

int vel_current_choose(struct vel_index *index, int64_t id, struct vel_err *err)
{
    struct vel_fs *fs = vel_index_fs(index);
    const char *dir = vel_index_dir(index);
    struct vel_node *body = vel_node_object();
    char *path = vel_path_join(dir, "current");
    int64_t above = 0;
    int rc = body && path ? vel_index_last(index, &above, err)
                          : vel_out_of_memory(err, "the current dataset");

    if (rc == 0)
        rc = vel_node_set_int(body, "dataset", id) ||
                     vel_node_set_int(body, "above", above)
                 ? vel_out_of_memory(err, "the current dataset")
                 : vel_record_save(fs, path, "current", FORMAT, body, err);
    free(path);
    vel_node_destroy(body);
    return rc;
}

/* A record that is not there or cannot be read chooses nothing. */
static struct choice load_choice(struct vel_fs *fs, const char *dir)
{
    struct choice c = {0};
    struct vel_node *body = NULL;
    char *path = vel_path_join(dir, "current");
    int version;

    if (path &&
        vel_record_load(fs, path, "current", FORMAT, &version, &body, NULL) == 0) {
        if (vel_node_get_int(body, "dataset", 0, INT64_MAX, &c.id, NULL) < 0 ||
            vel_node_get_int(body, "above", 0, INT64_MAX, &c.above, NULL) < 0)
            c = (struct choice){.id = c.id, .above = c.id};
    }
    vel_node_destroy(body);
    free(path);
    return c;
}

struct search {
    struct choice chosen;
    int64_t newest, of_leaders;
    bool has_chosen;
};

/* Newest first: the first that is nobody's files settles it, when nothing older was
 * chosen. */
static int look(void *arg, struct vel_entry *entry, struct vel_err *err)
{
    struct search *s = arg;
    int64_t id = entry->dataset.id;
    bool counts = entry->place == VEL_ON_PREFIX && vel_entry_is_fetchable(entry) &&
                  (entry->dataset.use & VEL_USE_CHECKPOINT);

    (void)err;
    if (counts && entry->dataset.is_leaders)
        s->of_leaders = s->of_leaders ? s->of_leaders : id;
    else if (counts && id == s->chosen.id)
        s->has_chosen = true;
    else if (counts)
        s->newest = s->newest ? s->newest : id;
    vel_entry_fini(entry);
    return s->has_chosen || (s->newest && s->newest > s->chosen.above) ||
           (s->newest && id <= s->chosen.id);
}

int vel_current_find(struct vel_index *index, int64_t *ret_id, struct vel_err *err)
{
    const struct vel_index_range all = {.above = INT64_MIN, .below = INT64_MAX};
    struct search s = {.chosen =
                           load_choice(vel_index_fs(index), vel_index_dir(index))};
    int rc = vel_index_each(index, &all, look, &s, err);

    if (rc < 0)
        return rc;
    *ret_id = s.has_chosen && s.newest <= s.chosen.above ? s.chosen.id
              : s.newest                                 ? s.newest
                                                         : s.of_leaders;
    return 0;
}
