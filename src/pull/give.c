/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/path.h"
#include "meta/paths.h"
#include "pull/give.h"
#include "red/header.h"

/* Only a name that stays in the part, and a redundancy file where one is wanted. */
static int check(const struct vel_want *want, struct vel_err *err)
{
    bool is_name = want->what == VEL_WANT_PLACE || vel_path_is_inner(want->name);

    if (is_name && want->what == VEL_WANT_REDUNDANCY)
        is_name = !strchr(want->name, '/') && vel_red_is_file_name(want->name);
    if (!is_name || want->what == VEL_WANT_WHERE || want->what > VEL_WANT_PLACE)
        return vel_fail(err, VEL_EINVAL, "'%s' is no name of a file of a part",
                        want->name);
    if (want->len < 1 || want->len > VEL_WANT_MOST || want->at > INT64_MAX / 2)
        return vel_fail(err, VEL_EINVAL, "%s: %u bytes at %" PRIu64 " are not given",
                        want->name, (unsigned)want->len, want->at);
    return 0;
}

/* A directory on the way that is a link would lead elsewhere. */
static int check_way(struct vel_fs *fs, const char *dir, const char *name,
                     struct vel_err *err)
{
    int rc = 0;

    for (const char *slash = strchr(name, '/'); rc == 0 && slash;
         slash = strchr(slash + 1, '/')) {
        struct vel_buf path;
        struct stat st;

        vel_buf_init(&path);
        vel_buf_printf(&path, "%s/%.*s", dir, (int)(slash - name), name);
        rc = vel_buf_status(&path, err);
        if (rc == 0)
            rc = vel_fs_lstat(fs, vel_buf_text(&path), &st, err);
        if (rc == 0 && !S_ISDIR(st.st_mode))
            rc = vel_fail(err, VEL_EUNSAFE, "%s is no directory", vel_buf_text(&path));
        vel_buf_fini(&path);
    }
    return rc;
}

static int read_some(struct vel_fs *fs, const char *path, const struct vel_want *want,
                     void *bytes, uint64_t *ret_size, uint32_t *ret_got,
                     struct vel_err *err)
{
    struct stat st;
    uint64_t len = 0;
    int fd, rc;

    /* not waiting for a writer, should it be a FIFO */
    rc = vel_fs_open(fs, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, &fd, err);
    if (rc < 0)
        return rc;
    rc = vel_fs_stat(fs, fd, path, &st, err);
    if (rc == 0 && !S_ISREG(st.st_mode))
        rc = vel_fail(err, VEL_EUNSAFE, "%s is no regular file", path);
    if (rc == 0 && want->at < (uint64_t)st.st_size) {
        len = (uint64_t)st.st_size - want->at;
        len = len < want->len ? len : want->len;
        rc = vel_fs_read_at(fs, fd, bytes, len, (off_t)want->at, path, err);
    }
    vel_fs_close(fs, fd, path, NULL);
    if (rc == 0) {
        *ret_size = (uint64_t)st.st_size;
        *ret_got = (uint32_t)len;
    }
    return rc;
}

/* In one level of one cache. VEL_ENOENT: not here. */
static int give_at(const struct vel_giver *giver, const char *level,
                   const struct vel_want *want, void *bytes, uint64_t *ret_size,
                   uint32_t *ret_got, struct vel_err *err)
{
    char *dir = vel_cache_rank_dir(level, want->dataset, want->rank);
    char *path = dir ? vel_path_join(dir, want->name) : NULL;
    int rc = path ? 0 : vel_out_of_memory(err, "giving a part");

    if (rc == 0)
        rc = check_way(giver->fs, dir, want->name, err);
    if (rc == 0)
        rc = read_some(giver->fs, path, want, bytes, ret_size, ret_got, err);
    free(path);
    free(dir);
    return rc;
}

/* By its path, if that is one of this cache. */
static int give_place(const struct vel_giver *giver, const char *home,
                      const struct vel_want *want, void *bytes, uint64_t *ret_size,
                      uint32_t *ret_got, struct vel_err *err)
{
    const char *below = vel_path_below(home, want->name);
    int rc = below && vel_path_is_inner(below) ? 0 : VEL_ENOENT;

    if (rc == 0)
        rc = check_way(giver->fs, home, below, err);
    return rc == 0
               ? read_some(giver->fs, want->name, want, bytes, ret_size, ret_got, err)
               : rc;
}

static int give_from(const struct vel_giver *giver, const char *home,
                     const struct vel_want *want, void *bytes, uint64_t *ret_size,
                     uint32_t *ret_got, struct vel_err *err)
{
    struct vel_vec names;
    int64_t index;
    int rc = vel_fs_check_private_dir(giver->fs, home, err);

    if (rc == 0 && want->what == VEL_WANT_PLACE)
        return give_place(giver, home, want, bytes, ret_size, ret_got, err);
    if (rc == 0)
        rc = vel_fs_list(giver->fs, home, &names, err);
    if (rc < 0)
        return rc;
    rc = VEL_ENOENT;
    for (size_t i = 0; rc == VEL_ENOENT && i < names.n; i++) {
        const char *name = ((char **)names.items)[i];
        char *level;

        if (!vel_number_behind(name, "index.", &index))
            continue;
        level = vel_path_join(home, name);
        rc = level ? give_at(giver, level, want, bytes, ret_size, ret_got, err)
                   : vel_out_of_memory(err, "giving a part");
        free(level);
    }
    vel_fs_names_fini(&names);
    return rc;
}

int vel_give(const struct vel_giver *giver, const struct vel_want *want, void *bytes,
             uint64_t *ret_size, uint32_t *ret_got, struct vel_err *err)
{
    int rc = check(want, err);

    if (rc < 0)
        return rc;
    rc = VEL_ENOENT;
    for (size_t i = 0; rc == VEL_ENOENT && i < giver->n_homes; i++)
        rc = give_from(giver, giver->homes[i], want, bytes, ret_size, ret_got, err);
    if (rc == VEL_ENOENT)
        return vel_fail(err, VEL_ENOENT,
                        "%s of rank %d of dataset %" PRId64 " is in no cache here",
                        want->name, want->rank, want->dataset);
    return rc;
}

void vel_give_answer(const struct vel_giver *giver, const struct vel_msg *want,
                     void *room, struct vel_msg *ret)
{
    const struct vel_msg_want *w = &want->u.want;
    const struct vel_want what = {.dataset = (int64_t)w->dataset,
                                  .rank = (int)w->rank,
                                  .what = (unsigned)w->what,
                                  .name = w->name,
                                  .at = w->at,
                                  .len = (uint32_t)w->len};
    struct vel_err why = {0};
    uint64_t size = 0;
    uint32_t got = 0;
    int rc = vel_give(giver, &what, room, &size, &got, &why);

    *ret = (struct vel_msg){.kind = VEL_MSG_GIVE, .seq = want->seq};
    if (rc == 0) {
        ret->u.give.size = size;
        ret->u.give.crc = vel_crc32c(0, room, got);
        ret->u.give.bytes = (struct vel_msg_bytes){.at = room, .len = got};
        return;
    }
    ret->kind = VEL_MSG_NO;
    ret->u.no.status = (uint64_t)-rc;
    ret->u.no.term = 0;
    ret->u.no.text = memcpy(room, why.text, sizeof why.text);
}
