/* SPDX-License-Identifier: BSD-3-Clause */
/* Two programs do not write files of all their ranks under the same names: the leader
 * is asked once for all that differ in rank and step alone. */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "conf/rules.h"
#include "process/files_in.h"
#include "process/launcher.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct vel_vec ours = {.item_size = sizeof(char *)}; /* shapes; under it */

static bool is_ours(const char *shape)
{
    bool is = false;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; !is && i < ours.n; i++)
        is = strcmp(*(char **)vel_vec_at(&ours, i), shape) == 0;
    pthread_mutex_unlock(&lock);
    return is;
}

static void remember(const char *shape)
{
    char *copy = strdup(shape);

    pthread_mutex_lock(&lock);
    if (copy && !vel_vec_push(&ours, &copy))
        free(copy);
    pthread_mutex_unlock(&lock);
}

/* What cannot be asked is no reason not to write. */
static int ask(struct vel_client *client, const struct vel_file_name *name,
               const char *shape, struct vel_err *err)
{
    struct vel_place place = {0};
    struct vel_err why = {0};
    int rc = vel_client_file_look(client, VEL_LOOK_WRITER, name->path, &place, &why);

    vel_place_fini(&place);
    if (rc == VEL_EBUSY)
        return vel_fail(err, VEL_EBUSY, "%s cannot be written: %s", name->path,
                        why.text);
    if (rc == 0)
        remember(shape);
    return 0;
}

int vel_files_may_write(struct vel_client *client, const struct vel_file_name *name,
                        struct vel_err *err)
{
    struct vel_buf shape;
    int rc = 0;

    vel_buf_init(&shape);
    if (vel_files_launcher()->ranks > 1 &&
        vel_rules_shape(vel_files_conf(), vel_files_prefix(), name->path, &shape) &&
        vel_buf_status(&shape, NULL) == 0 && !is_ours(vel_buf_text(&shape)))
        rc = ask(client, name, vel_buf_text(&shape), err);
    vel_buf_fini(&shape);
    return rc;
}
