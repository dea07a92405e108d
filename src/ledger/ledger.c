/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/carry.h"
#include "ledger/ledger_in.h"
#include "sys/entropy.h"

enum { LONG = 4 << 20 }; /* bytes */

struct vel_ledger {
    struct vel_ledger_dir dir;
    struct vel_ledger_name name;
    char *path;
    uint64_t salt;
    int fd;
    uint64_t begin, end; /* bytes of title and begin, and of the whole */
    uint64_t synced;     /* so many are on the disk, */
    bool is_named;       /* and its name */
    bool has_begun, is_out, has_failed;
};

/* --- lines --- */

/* Add the lines of `facts` to what will stand at the end. is_joined: to what is not
 * synced. */
static void add_lines(const struct vel_ledger *ledger, const char *facts, size_t len,
                      bool is_joined, struct vel_buf *ret)
{
    uint64_t salt = ledger->salt + ledger->has_begun;

    while (len > 0) {
        const char *feed = memchr(facts, '\n', len);
        size_t n = feed ? (size_t)(feed - facts) : len;

        if (is_joined && ledger->synced < ledger->end)
            vel_line_add_joined(ret, salt, ledger->end, facts, n, ledger->synced);
        else
            vel_line_add(ret, salt, ledger->end, facts, n);
        n += feed != NULL;
        facts += n;
        len -= n;
    }
}

/* "KIND FLOOR BYTES FROM..." */
static void put_head(struct vel_buf *ret, const char *kind, int64_t floor, size_t bytes,
                     const struct vel_vec *froms)
{
    vel_buf_clear(ret);
    vel_buf_puts(ret, kind);
    vel_line_put_int(ret, floor);
    vel_line_put_int(ret, (int64_t)bytes);
    for (size_t i = 0; i < froms->n; i++) {
        const struct vel_ledger_from *from = vel_vec_at(froms, i);

        vel_line_put_int(ret, from->launch);
        vel_line_put_int(ret, from->term);
    }
}

/* Each line of `facts` becomes longer by its CRC and a blank. */
static size_t size_of_lines(const char *facts, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        n += facts[i] == '\n';
    return len + n * VEL_LINE_MORE;
}

/* begin, facts, tail */
static void put_begin(const struct vel_ledger *ledger, int64_t floor,
                      const struct vel_vec *from, const char *facts, size_t len,
                      struct vel_buf *ret)
{
    size_t bytes = size_of_lines(facts, len);
    struct vel_buf head;

    vel_buf_init(&head);
    put_head(&head, "begin", floor, bytes, from);
    vel_line_add(ret, ledger->salt, ledger->end, vel_buf_text(&head), head.len);
    add_lines(ledger, facts, len, false, ret);
    put_head(&head, "tail", floor, bytes, from);
    vel_line_add(ret, ledger->salt, ledger->end, vel_buf_text(&head), head.len);
    ret->failed = ret->failed || head.failed;
    vel_buf_fini(&head);
}

/* --- to claim --- */

/* Behind a title: the begin of who carries nothing. */
static int put_first(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                     uint64_t salt, const struct vel_buf *facts, struct vel_buf *ret,
                     struct vel_err *err)
{
    const struct vel_ledger ledger = {.salt = salt};
    struct vel_carry carry;
    struct vel_vec from;
    int64_t floor;

    vel_carry_init(&carry, dir, name);
    int rc = vel_carry_list(&carry, &floor, &from, err);
    if (rc == 0) {
        put_begin(&ledger, floor, &from, vel_buf_text(facts), facts->len, ret);
        vel_vec_fini(&from);
    }
    vel_carry_fini(&carry);
    return rc;
}

/* `first`: it has a begin at once, of these facts; or NULL. Where no other machine
 * writes all who have seen a name lose their power with it, so it comes to the disk
 * with what is told first. */
static int make(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                const struct vel_ledger_self *self, int64_t heir,
                const struct vel_buf *first, uint64_t *ret_salt, uint64_t *ret_len,
                struct vel_err *err)
{
    struct vel_ledger_text title = {.name = name,
                                    .heir = heir,
                                    .process = self->process,
                                    .node = (char *)self->node,
                                    .address = (char *)self->address};
    char *path = vel_ledger_path(dir, name);
    struct vel_buf text, line;
    bool is_mine = false;
    int rc = path ? vel_entropy(&title.salt, sizeof title.salt, err)
                  : vel_out_of_memory(err, "a ledger");

    vel_buf_init(&text);
    vel_buf_init(&line);
    vel_title_put(&text, &title);
    if (text.len > 0)
        vel_line_add(&line, 0, 0, text.data, text.len);
    if (rc == 0 && (text.failed || line.failed))
        rc = vel_out_of_memory(err, path);
    if (rc == 0 && line.len > VEL_LEDGER_TITLE)
        rc = vel_fail(err, VEL_EINVAL, "%s: the address %s is too long", path,
                      self->address);
    if (rc == 0 && first)
        rc = put_first(dir, name, title.salt, first, &line, err);
    if (rc == 0)
        rc = vel_buf_status(&line, err);
    if (rc == 0)
        rc = vel_fs_once(dir->fs, path, line.data, line.len,
                         dir->is_shared ? VEL_FS_LASTS : VEL_FS_LASTS_WHOLE, &is_mine,
                         err);
    if (rc == 0 && !is_mine)
        rc = vel_fail(err, VEL_EEXIST, "%s is another's", path);
    *ret_salt = title.salt;
    *ret_len = line.len;
    vel_buf_fini(&text);
    vel_buf_fini(&line);
    free(path);
    return rc;
}

/* Open the ledger of this name and salt. VEL_ECANCEL: it is not there. */
static int open_salted(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                       uint64_t salt, int flags, int *ret_fd, struct vel_err *err)
{
    struct vel_ledger_text title;
    int fd = -1, rc = vel_title_open(dir, name, flags, &fd, &title, err);
    bool is_own = rc == 0 && title.salt == salt;

    if (rc == 0)
        vel_ledger_text_fini(&title);
    if (rc == 0 && is_own) {
        *ret_fd = fd;
        return 0;
    }
    vel_fs_close(dir->fs, fd, dir->path, NULL);
    if (rc < 0 && rc != VEL_ENOENT && rc != VEL_ECORRUPT)
        return rc;
    return vel_fail(
        err, VEL_ECANCEL,
        "%s/%" PRId64 ".%" PRId64
        " is not ours any more: others have ended its launch, or removed it",
        dir->path, name.launch, name.term);
}

/* A chain that has more than its first name has had it before. */
static int check_first(const struct vel_ledger *ledger, struct vel_err *err)
{
    struct vel_vec list;
    int64_t highest;
    int rc;

    if (ledger->name.term > 0)
        return 0;
    rc = vel_ledger_list(&ledger->dir, &list, err);
    if (rc < 0)
        return rc;
    highest = vel_ledger_highest(&list, ledger->name.launch);
    vel_vec_fini(&list);
    return highest == 0 ? 0
                        : vel_fail(err, VEL_EEXIST, "%s was used before", ledger->path);
}

static int claim(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                 const struct vel_ledger_self *self, const struct vel_buf *first,
                 struct vel_ledger **ret, struct vel_err *err)
{
    struct vel_ledger *ledger = calloc(1, sizeof *ledger);
    int rc = ledger ? 0 : vel_out_of_memory(err, "a ledger");

    if (rc < 0)
        return rc;
    *ledger = (struct vel_ledger){.dir = *dir,
                                  .name = name,
                                  .path = vel_ledger_path(dir, name),
                                  .fd = -1,
                                  .is_named = dir->is_shared};
    if (!ledger->path)
        rc = vel_out_of_memory(err, "a ledger");
    if (rc == 0)
        rc = make(dir, name, self, 0, first, &ledger->salt, &ledger->end, err);
    if (rc == 0)
        rc = open_salted(dir, name, ledger->salt, O_RDWR, &ledger->fd, err);
    if (rc == 0)
        rc = check_first(ledger, err);
    if (rc == 0 && first) {
        ledger->begin = ledger->synced = ledger->end;
        ledger->has_begun = true;
    }
    if (rc == 0)
        *ret = ledger;
    else
        vel_ledger_close(ledger);
    return rc;
}

int vel_ledger_claim(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                     const struct vel_ledger_self *self, struct vel_ledger **ret,
                     struct vel_err *err)
{
    return claim(dir, name, self, NULL, ret, err);
}

int vel_ledger_claim_first(const struct vel_ledger_dir *dir, int64_t launch,
                           const struct vel_ledger_self *self,
                           const struct vel_buf *facts, struct vel_ledger **ret,
                           struct vel_err *err)
{
    return claim(dir, (struct vel_ledger_name){launch, 0}, self, facts, ret, err);
}

int vel_ledger_end(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                   const struct vel_ledger_self *self, int64_t heir,
                   struct vel_err *err)
{
    uint64_t salt, len;

    return make(dir, name, self, heir, NULL, &salt, &len, err);
}

void vel_ledger_close(struct vel_ledger *ledger)
{
    if (!ledger)
        return;
    vel_fs_close(ledger->dir.fs, ledger->fd, ledger->path, NULL);
    free(ledger->path);
    free(ledger);
}

struct vel_ledger_name vel_ledger_name(const struct vel_ledger *ledger)
{
    return ledger->name;
}

/* --- to look --- */

int vel_ledger_see_anew(const struct vel_ledger_dir *dir, struct vel_err *err)
{
    return dir->is_shared ? vel_fs_see_anew(dir->fs, dir->path, NULL, err) : 0;
}

static int find_next(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                     struct vel_err *err)
{
    const struct vel_ledger_name next = {name.launch, name.term + 1};
    char *path = vel_ledger_path(dir, next);
    int fd = -1, rc;

    rc = path ? vel_fs_open(dir->fs, path, O_RDONLY | O_NOFOLLOW, 0, &fd, err)
              : vel_out_of_memory(err, "a ledger");
    vel_fs_close(dir->fs, fd, path, NULL);
    if (rc == 0)
        rc = vel_fail(err, VEL_ECANCEL, "%s is there: another leader has taken over",
                      path);
    free(path);
    return rc == VEL_ENOENT ? 0 : rc;
}

static int find_own(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                    uint64_t salt, struct vel_err *err)
{
    int fd = -1, rc = open_salted(dir, name, salt, O_RDONLY, &fd, err);

    vel_fs_close(dir->fs, fd, dir->path, NULL);
    return rc;
}

/* In this order: whoever makes the next one may remove this one, and a third make that
 * anew. VEL_ECANCEL: it does not count. */
static int look_at(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                   uint64_t salt, struct vel_err *err)
{
    int rc = vel_ledger_see_anew(dir, err);

    if (rc == 0)
        rc = find_next(dir, name, err);
    return rc == 0 ? find_own(dir, name, salt, err) : rc;
}

/* May it be written, and told of? */
static int check(const struct vel_ledger *ledger, struct vel_err *err)
{
    if (ledger->is_out)
        return vel_fail(err, VEL_ECANCEL, "%s does not count", ledger->path);
    if (ledger->has_failed)
        return vel_fail(err, VEL_ESTATE, "writing %s has failed before", ledger->path);
    if (!ledger->has_begun)
        return vel_fail(err, VEL_ESTATE, "%s has no begin", ledger->path);
    return 0;
}

bool vel_ledger_is_good(const struct vel_ledger *ledger)
{
    return check(ledger, NULL) == 0;
}

int vel_ledger_look(struct vel_ledger *ledger, struct vel_err *err)
{
    int rc = check(ledger, err);

    if (rc == 0)
        rc = look_at(&ledger->dir, ledger->name, ledger->salt, err);
    ledger->is_out = ledger->is_out || rc == VEL_ECANCEL;
    return rc;
}

int vel_ledger_trust(const struct vel_ledger_dir *dir,
                     const struct vel_ledger_text *text, struct vel_err *err)
{
    int fd = -1, rc = open_salted(dir, text->name, text->salt, O_RDONLY, &fd, err);

    if (rc == 0)
        rc = vel_fs_sync(dir->fs, fd, dir->path, err);
    vel_fs_close(dir->fs, fd, dir->path, NULL);
    return rc == 0 ? look_at(dir, text->name, text->salt, err) : rc;
}

/* --- to write --- */

static int write_lines(struct vel_ledger *ledger, const struct vel_buf *lines,
                       struct vel_err *err)
{
    int rc = vel_buf_status(lines, err);

    if (rc < 0 || lines->len == 0)
        return rc;
    rc = vel_fs_write_at(ledger->dir.fs, ledger->fd, lines->data, lines->len,
                         (off_t)ledger->end, ledger->path, err);
    if (rc == 0)
        ledger->end += lines->len;
    else
        ledger->has_failed = true;
    return rc;
}

static int append(struct vel_ledger *ledger, const char *facts, size_t len,
                  bool is_joined, struct vel_err *err)
{
    struct vel_buf lines;
    int rc = check(ledger, err);

    vel_buf_init(&lines);
    if (rc == 0) {
        add_lines(ledger, facts, len, is_joined, &lines);
        rc = write_lines(ledger, &lines, err);
    }
    vel_buf_fini(&lines);
    return rc;
}

int vel_ledger_append(struct vel_ledger *ledger, const char *facts, size_t len,
                      struct vel_err *err)
{
    return append(ledger, facts, len, false, err);
}

int vel_ledger_append_joined(struct vel_ledger *ledger, const char *facts, size_t len,
                             struct vel_err *err)
{
    return append(ledger, facts, len, true, err);
}

int vel_ledger_sync(struct vel_ledger *ledger, struct vel_err *err)
{
    int rc = check(ledger, err);

    if (rc < 0 || (ledger->synced == ledger->end && ledger->is_named))
        return rc;
    rc = vel_fs_sync(ledger->dir.fs, ledger->fd, ledger->path, err);
    if (rc == 0 && !ledger->is_named)
        rc = vel_fs_sync_dir(ledger->dir.fs, ledger->dir.path, err);
    if (rc < 0)
        ledger->has_failed = true;
    else
        ledger->synced = ledger->end;
    ledger->is_named = ledger->is_named || rc == 0;
    return rc;
}

int vel_ledger_tell(struct vel_ledger *ledger, const char *facts, size_t len,
                    struct vel_err *err)
{
    int rc = vel_ledger_append_joined(ledger, facts, len, err);

    if (rc == 0)
        rc = vel_ledger_sync(ledger, err);
    return rc == 0 ? vel_ledger_look(ledger, err) : rc;
}

bool vel_ledger_is_long(const struct vel_ledger *ledger)
{
    return ledger->end > LONG && ledger->end > 2 * ledger->begin;
}

int vel_ledger_begin(struct vel_ledger *ledger, const struct vel_carry *carry,
                     const char *facts, size_t len, struct vel_err *err)
{
    struct vel_buf lines;
    struct vel_vec from;
    int64_t floor;
    int rc = ledger->has_begun
                 ? vel_fail(err, VEL_ESTATE, "%s has a begin", ledger->path)
                 : vel_carry_list(carry, &floor, &from, err);

    if (rc < 0)
        return rc;
    vel_buf_init(&lines);
    put_begin(ledger, floor, &from, facts, len, &lines);
    ledger->has_begun = true;
    rc = write_lines(ledger, &lines, err);
    ledger->begin = ledger->end;
    ledger->has_failed = rc < 0;
    if (rc == 0)
        rc = vel_ledger_sync(ledger, err);
    vel_buf_fini(&lines);
    vel_vec_fini(&from);
    return rc == 0 ? vel_ledger_look(ledger, err) : rc;
}
