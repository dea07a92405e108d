/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "ledger/line.h"
#include "meta/digest.h"
#include "meta/ids.h"
#include "meta/launch.h"
#include "meta/terms_in.h"

/* bytes: of lines that are not needed any more; of the line of a block, at most */
enum { FEW = 8192, BLOCK = 100 };

static const size_t MOST = 128 << 20;
static const char of_launch[] = "launch", of_block[] = "ids";

/* Of each user his own: what it says is believed. */
static char *path_of(const struct vel_index *index)
{
    struct vel_buf path;

    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/digest.%ld", index->dir, (long)geteuid());
    return vel_buf_take(&path, NULL);
}

static bool is_own(const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_uid == geteuid();
}

/* --- to read --- */

/* Of a launch, to be freed; NULL: it is none. */
static char *get_name(struct vel_fields *fields)
{
    struct vel_buf name;
    bool is;

    vel_buf_init(&name);
    vel_fields_text(fields, &name);
    is = vel_fields_are_right(fields) && vel_buf_status(&name, NULL) == 0 &&
         strlen(vel_buf_text(&name)) == name.len &&
         vel_launch_is_name(vel_buf_text(&name));
    if (is)
        return vel_buf_take(&name, NULL);
    vel_buf_fini(&name);
    return NULL;
}

static bool take_text(struct vel_index_launch *launch, struct vel_fields *fields)
{
    struct vel_buf text;
    bool is;

    vel_buf_init(&text);
    vel_fields_text(fields, &text);
    is = vel_fields_are_right(fields) && vel_buf_status(&text, NULL) == 0 &&
         vel_index_put_back(launch, &(struct vel_ledger_line){text.data, text.len});
    vel_buf_fini(&text);
    return is;
}

static bool put_back(struct vel_index_launch *launch, struct vel_fields *fields)
{
    struct vel_follow *follow = &launch->follow;
    bool is = true;

    follow->name = (struct vel_ledger_name){VEL_TERMS_NUMBER, vel_fields_int(fields)};
    follow->stamp.inode = vel_fields_int(fields);
    follow->stamp.size = vel_fields_int(fields);
    follow->stamp.seconds = vel_fields_int(fields);
    follow->stamp.nanoseconds = vel_fields_int(fields);
    follow->salt = follow->end = 0;
    launch->last = vel_fields_int(fields);
    while (is && vel_fields_have(fields))
        is = take_text(launch, fields);
    return is && vel_fields_are_right(fields) && follow->name.term >= 0 &&
           follow->name.term < INT64_MAX;
}

/* One that is there, and marked, and was not read yet. The last line counts. */
static void take_launch(struct vel_index_half *half, struct vel_fields *fields,
                        size_t len)
{
    char *name = get_name(fields);
    struct vel_index_launch *launch = name ? vel_map_get(half->launches, name) : NULL;

    free(name);
    if (!launch || !launch->is_past || (launch->follow.has_term && launch->told == 0))
        return;
    vel_index_forget_said(launch);
    if (put_back(launch, fields)) {
        launch->is_done = launch->follow.has_term = true;
        launch->told = len;
    } else {
        vel_index_forget_said(launch);
    }
}

static int by_first(const void *a, const void *b)
{
    int64_t x = ((const struct vel_ids_block *)a)->first,
            y = ((const struct vel_ids_block *)b)->first;

    return (x > y) - (x < y);
}

static bool is_block(const struct vel_ids_block *block)
{
    return block->launch && block->first > 0 && block->last >= block->first &&
           block->last < INT64_MAX && block->last - block->first < VEL_IDS_MOST;
}

/* Whoever asks looks whether it is there. */
static void take_block(struct vel_index_half *half, struct vel_fields *fields)
{
    struct vel_ids_block block = {.is_told = true}, *old;
    bool is_there;
    size_t at;

    block.first = vel_fields_int(fields);
    block.last = vel_fields_int(fields);
    block.is_leaders = vel_fields_int(fields) != 0;
    block.launch = get_name(fields);
    if (!is_block(&block)) {
        free(block.launch);
        return;
    }
    at = vel_vec_place(&half->blocks, &block, by_first, &is_there);
    old = is_there ? vel_vec_at(&half->blocks, at) : NULL;
    if (old) {
        free(old->launch);
        *old = block;
    } else if (!vel_vec_insert(&half->blocks, at, &block)) {
        free(block.launch);
    }
}

/* Each line stands for itself: several may write at once, on clients that know nothing
 * of each other. False: it is damaged. */
static bool take_line(struct vel_index_half *half, const char *at, size_t len)
{
    struct vel_lines lines = {.bytes = at, .len = len};
    struct vel_ledger_line line;
    struct vel_fields fields;

    if (len == 1)
        return true;
    half->digested += len;
    if (!vel_lines_next(&lines, &line) || !line.text)
        return false;
    if (vel_line_is(&line, of_launch, &fields))
        take_launch(half, &fields, len);
    else if (vel_line_is(&line, of_block, &fields))
        take_block(half, &fields);
    return true;
}

void vel_digest_take(struct vel_index_half *half, const char *bytes, size_t len)
{
    const char *end = bytes + len, *feed;

    for (; len > 0 && (feed = memchr(bytes, '\n', len)) != NULL;
         bytes = feed + 1, len = (size_t)(end - bytes))
        if (!take_line(half, bytes, (size_t)(feed - bytes) + 1))
            half->is_worn = true;
}

void vel_digest_load(struct vel_index *index, struct vel_index_half *half)
{
    char *path = half->has_digest ? NULL : path_of(index);
    struct vel_buf bytes;
    struct stat st;
    int rc;

    if (!path)
        return;
    half->has_digest = true;
    vel_buf_init(&bytes);
    rc = vel_fs_lstat(index->fs, path, &st, NULL);
    if (rc == 0)
        rc = is_own(&st) ? vel_fs_read_file(index->fs, path, MOST, &bytes, NULL)
                         : VEL_EUNSAFE;
    half->is_worn = rc < 0 && rc != VEL_ENOENT;
    vel_digest_take(half, vel_buf_text(&bytes), bytes.len);
    vel_buf_fini(&bytes);
    free(path);
}

/* --- to write --- */

static void add_line(struct vel_buf *lines, const struct vel_buf *text)
{
    vel_line_add(lines, 0, 0 - (uint64_t)lines->len, vel_buf_text(text), text->len);
    lines->failed = lines->failed || text->failed;
}

static void put_gone(const struct vel_index_launch *launch, struct vel_buf *ret)
{
    struct vel_buf lines;
    const char *at, *feed;

    vel_buf_init(&lines);
    if (vel_terms_put_gone(&launch->gone, &lines, NULL) < 0)
        ret->failed = true;
    for (at = vel_buf_text(&lines); (feed = strchr(at, '\n')) != NULL; at = feed + 1)
        vel_line_put_text(ret, at, (size_t)(feed - at));
    vel_buf_fini(&lines);
}

/* A line of the digest: first the entries, for what is gone is none of those. */
static void put_launch(const char *name, const struct vel_index_launch *launch,
                       struct vel_buf *ret)
{
    const struct vel_follow *follow = &launch->follow;
    struct vel_buf text;

    vel_buf_init(&text);
    vel_buf_puts(&text, of_launch);
    vel_line_put_text(&text, name, strlen(name));
    vel_line_put_int(&text, follow->name.term);
    vel_line_put_int(&text, follow->stamp.inode);
    vel_line_put_int(&text, follow->stamp.size);
    vel_line_put_int(&text, follow->stamp.seconds);
    vel_line_put_int(&text, follow->stamp.nanoseconds);
    vel_line_put_int(&text, launch->last);
    for (size_t i = 0; i < launch->spots.n; i++) {
        const struct vel_index_spot *spot = vel_vec_at(&launch->spots, i);

        vel_line_put_text(&text, *(char **)vel_vec_at(&launch->lines, spot->at),
                          spot->len);
    }
    put_gone(launch, &text);
    add_line(ret, &text);
    vel_buf_fini(&text);
}

static void put_block(const struct vel_ids_block *block, struct vel_buf *ret)
{
    struct vel_buf text;

    vel_buf_init(&text);
    vel_buf_puts(&text, of_block);
    vel_line_put_int(&text, block->first);
    vel_line_put_int(&text, block->last);
    vel_line_put_int(&text, block->is_leaders);
    vel_line_put_text(&text, block->launch, strlen(block->launch));
    add_line(ret, &text);
    vel_buf_fini(&text);
}

/* What a loss of power takes from the ledger since makes that another file: shorter. */
static bool is_fit(const struct vel_index_launch *launch)
{
    bool is = launch->is_past && launch->is_done && !launch->is_doubtful &&
              launch->follow.has_term;

    for (size_t i = 0; is && i < launch->spots.n; i++)
        is = ((const struct vel_index_spot *)vel_vec_at(&launch->spots, i))->is_kept;
    return is;
}

/* Of a launch that is not over more may be said of a block, by who comes late. */
static bool is_fit_block(const struct vel_index_half *half,
                         const struct vel_ids_block *block)
{
    const struct vel_index_launch *launch = vel_map_get(half->launches, block->launch);

    return launch && launch->is_done;
}

/* All that fits, or what is not told yet. */
static void put_all(struct vel_index_half *half, bool all, struct vel_buf *ret)
{
    for (size_t i = 0; i < vel_map_count(half->launches); i++) {
        struct vel_index_launch *launch = vel_map_value(half->launches, i);
        size_t before = ret->len;

        if ((launch->told > 0 && !all) || !is_fit(launch))
            continue;
        put_launch(vel_map_key(half->launches, i), launch, ret);
        launch->told = ret->len - before;
    }
    for (size_t i = 0; i < half->blocks.n; i++) {
        struct vel_ids_block *block = vel_vec_at(&half->blocks, i);

        if ((block->is_told && !all) || !is_fit_block(half, block))
            continue;
        put_block(block, ret);
        block->is_told = true;
    }
}

/* Bytes of lines that are needed, and of some more for each block. */
static size_t size_told(const struct vel_index_half *half)
{
    size_t n = half->blocks.n * BLOCK;

    for (size_t i = 0; i < vel_map_count(half->launches); i++)
        n += ((const struct vel_index_launch *)vel_map_value(half->launches, i))->told;
    return n;
}

static int append(struct vel_fs *fs, const char *path, const struct vel_buf *lines,
                  struct vel_err *err)
{
    struct stat st;
    int fd, rc = vel_fs_open(fs, path,
                             O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK,
                             0600, &fd, err);
    int closed;

    if (rc < 0)
        return rc;
    rc = vel_fs_stat(fs, fd, path, &st, err);
    if (rc == 0 && !is_own(&st))
        rc = vel_fail(err, VEL_EUNSAFE, "%s is another user's", path);
    if (rc == 0)
        rc = vel_fs_append(fs, fd, lines->data, lines->len, path, err);
    closed = vel_fs_close(fs, fd, path, rc == 0 ? err : NULL);
    return rc < 0 ? rc : closed;
}

/* What was not written now is, when all is written anew. */
void vel_digest_save(struct vel_index *index, struct vel_index_half *half)
{
    bool is_anew = half->is_worn || half->digested > 2 * size_told(half) + FEW;
    char *path = path_of(index);
    struct vel_err why = {0};
    struct vel_buf lines;
    int rc;

    vel_buf_init(&lines);
    vel_buf_putc(&lines, '\n'); /* behind a torn line */
    put_all(half, is_anew, &lines);
    half->digested = (is_anew ? 0 : half->digested) + lines.len;
    rc = path ? vel_buf_status(&lines, &why) : vel_out_of_memory(&why, "a digest");
    if (rc == 0 && is_anew)
        rc = vel_fs_replace_unsynced(index->fs, path, 0, lines.data, lines.len, 0600,
                                     &why); /* two at once may tear it */
    else if (rc == 0 && lines.len > 1)
        rc = append(index->fs, path, &lines, &why);
    half->is_worn = rc < 0;
    if (rc < 0)
        vel_log(VEL_LOG_DEBUG, "who begins reads the ledgers of all launches: %s",
                why.text);
    vel_buf_fini(&lines);
    free(path);
}
