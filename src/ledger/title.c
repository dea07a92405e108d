/* SPDX-License-Identifier: BSD-3-Clause */
/* The first line of a ledger: whose it is. */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/ledger_in.h"

char *vel_ledger_path(const struct vel_ledger_dir *dir, struct vel_ledger_name name)
{
    struct vel_buf path;

    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/%" PRId64 ".%" PRId64, dir->path, name.launch, name.term);
    return vel_buf_take(&path, NULL);
}

/* A salt has the same length always, and a title with it. */
void vel_title_put(struct vel_buf *ret, const struct vel_ledger_text *title)
{
    vel_buf_puts(ret, "title");
    vel_line_put_int(ret, VEL_LEDGER_FORMAT);
    vel_buf_printf(ret, " %016" PRIX64, title->salt);
    vel_line_put_int(ret, title->name.launch);
    vel_line_put_int(ret, title->name.term);
    vel_line_put_text(ret, title->node, strlen(title->node));
    vel_line_put_int(ret, title->process);
    vel_line_put_text(ret, title->address, strlen(title->address));
    vel_line_put_int(ret, title->heir);
}

/* A text without zero bytes, as a new string; NULL when out of memory. */
static char *take_string(struct vel_fields *fields)
{
    struct vel_buf text;
    char *string;
    size_t len;

    vel_buf_init(&text);
    vel_fields_text(fields, &text);
    vel_buf_puts(&text, "");
    string = vel_buf_take(&text, &len);
    if (string && strlen(string) != len)
        fields->at = NULL;
    return string;
}

/* As 16 hex digits. */
static bool take_salt(struct vel_fields *fields, uint64_t *ret, bool *ret_no_memory)
{
    char *digits = take_string(fields);

    *ret_no_memory = !digits;
    bool is =
        digits && strlen(digits) == 16 && strspn(digits, "0123456789ABCDEF") == 16;
    *ret = is ? strtoull(digits, NULL, 16) : 0;
    free(digits);
    return is;
}

static int check_title(struct vel_fields *fields, struct vel_ledger_text *title,
                       struct vel_err *err)
{
    const struct vel_ledger_name name = title->name;
    bool no_memory = false;

    if (vel_fields_int(fields) != VEL_LEDGER_FORMAT ||
        !take_salt(fields, &title->salt, &no_memory))
        return no_memory ? vel_out_of_memory(err, "a ledger") : 0;
    bool is_name = vel_fields_int(fields) == name.launch;
    is_name = vel_fields_int(fields) == name.term && is_name;
    title->node = take_string(fields);
    title->process = vel_fields_int(fields);
    title->address = take_string(fields);
    title->heir = vel_fields_int(fields);
    if (!title->node || !title->address)
        return vel_out_of_memory(err, "a ledger");
    return is_name && vel_fields_are_right(fields) && !vel_fields_have(fields) &&
           (title->heir == 0 || title->heir > name.launch);
}

int vel_title_get(const void *bytes, size_t len, struct vel_ledger_name name,
                  struct vel_ledger_text *ret, struct vel_lines *ret_lines,
                  struct vel_err *err)
{
    struct vel_lines lines = {.bytes = bytes, .len = len};
    struct vel_ledger_text title = {.name = name};
    struct vel_fields fields;
    struct vel_ledger_line line;
    int rc = 0;

    if (vel_lines_next(&lines, &line) && !lines.are_behind &&
        lines.at <= VEL_LEDGER_TITLE && vel_line_is(&line, "title", &fields))
        rc = check_title(&fields, &title, err);
    if (rc == 1) {
        lines.salt = title.salt;
        *ret_lines = lines;
        *ret = title;
    } else {
        free(title.node);
        free(title.address);
    }
    return rc;
}

int vel_title_none(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                   struct vel_err *err)
{
    return vel_fail(err, VEL_ECORRUPT,
                    "%s/%" PRId64 ".%" PRId64
                    " is damaged: its first line is no title of this ledger",
                    dir->path, name.launch, name.term);
}

int vel_title_open(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                   int flags, int *ret_fd, struct vel_ledger_text *ret,
                   struct vel_err *err)
{
    char *path = vel_ledger_path(dir, name), bytes[VEL_LEDGER_TITLE];
    struct vel_lines behind;
    size_t len = 0;
    struct stat st;
    ssize_t n = 1;
    int fd = -1, rc;

    rc = path ? vel_fs_open(dir->fs, path, flags | O_NOFOLLOW | O_NONBLOCK, 0, &fd, err)
              : vel_out_of_memory(err, "a ledger");
    if (rc == 0 && dir->fs->ops->fstat(dir->fs, fd, &st) == 0 && !S_ISREG(st.st_mode))
        n = 0; /* what is no file has no title */
    while (rc == 0 && n > 0 && len < sizeof bytes) {
        n = dir->fs->ops->pread(dir->fs, fd, bytes + len, sizeof bytes - len,
                                (off_t)len);
        if (n < 0)
            rc = vel_fail_errno(err, (int)-n, "cannot read %s", path);
        else
            len += (size_t)n;
    }
    if (rc == 0)
        rc = vel_title_get(bytes, len, name, ret, &behind, err);
    if (rc == 0)
        rc = vel_title_none(dir, name, err);
    if (rc > 0)
        *ret_fd = fd;
    else
        vel_fs_close(dir->fs, fd, path, NULL);
    free(path);
    return rc < 0 ? rc : 0;
}

int vel_ledger_title(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                     struct vel_ledger_text *ret, struct vel_err *err)
{
    int fd, rc = vel_title_open(dir, name, O_RDONLY, &fd, ret, err);

    if (rc == 0)
        vel_fs_close(dir->fs, fd, dir->path, NULL);
    return rc;
}

int vel_ledger_heir(const struct vel_ledger_dir *dir, struct vel_ledger_name name,
                    int64_t *ret_heir, struct vel_err *err)
{
    struct vel_ledger_text title;
    int rc = vel_ledger_title(dir, name, &title, err);

    if (rc < 0)
        return rc;
    *ret_heir = title.heir;
    vel_ledger_text_fini(&title);
    return 0;
}
