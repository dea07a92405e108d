/* SPDX-License-Identifier: BSD-3-Clause */
/* fs_undo_log - what no fsync has covered yet: the log between fs_undo.c, which fills
 * it, and fs_undo_loss.c, which plays it back. For these two alone.
 *
 * Files and directories are told apart by inode, because names move: a node knows where
 * its file is at the moment, and a change knows its directory as a node.
 */
#ifndef TEST_TAP_FS_UNDO_LOG_H
#define TEST_TAP_FS_UNDO_LOG_H

#include "tap/fs_undo.h"

struct vel_undo_node {
    dev_t dev;
    ino_t ino;
    mode_t mode;
    bool is_gone;              /* a directory that was removed: its inode is free */
    struct vel_undo_node *dir; /* where one of its names is; NULL: name is a path */
    char *name;
};

enum vel_undo_what {
    VEL_UNDO_MADE,  /* the name came: create, link, mkdir */
    VEL_UNDO_GONE,  /* the name went: unlink, rmdir, or something renamed over it */
    VEL_UNDO_MOVED, /* from another name to this one */
};

struct vel_undo_change {
    enum vel_undo_what what;
    struct vel_undo_node *node; /* what had or has the name */
    struct vel_undo_node *dir;
    char *name;
    struct vel_undo_node *from_dir; /* MOVED */
    char *from_name;
    unsigned aside; /* GONE, for a file: its name in the directory aside */
    bool is_durable;
    bool is_joined; /* one step with the change before */
};

struct vel_undo_write {
    struct vel_undo_node *node;
    bool is_truncate;
    off_t at;
    char *old_bytes, *new_bytes;
    size_t old_len, new_len;
    off_t old_size, new_size;
};

struct vel_undo_log {
    struct vel_fs *under;
    char *aside;
    unsigned naside;        /* names used in there so far */
    struct vel_vec nodes;   /* struct vel_undo_node * */
    struct vel_vec changes; /* in the order in which they were made */
    struct vel_vec writes;
    bool is_broken; /* out of memory: no state can be restored */
};

void vel_undo_log_init(struct vel_undo_log *log, struct vel_fs *under,
                       char *take_aside);
void vel_undo_log_fini(struct vel_undo_log *log);

/* Forget everything: all is durable. */
void vel_undo_log_clear(struct vel_undo_log *log);

struct vel_undo_change *vel_undo_change_at(const struct vel_undo_log *log, size_t i);
struct vel_undo_write *vel_undo_write_at(const struct vel_undo_log *log, size_t i);

/* The node of a file seen by stat, NULL when it is not known. */
struct vel_undo_node *vel_undo_node_find(const struct vel_undo_log *log,
                                         const struct stat *st);

/* The same, made known with `path` as its place. NULL when out of memory. */
struct vel_undo_node *vel_undo_node_get(struct vel_undo_log *log, const char *path,
                                        const struct stat *st);

/* Where the file is from now on; name is copied. */
int vel_undo_node_place(struct vel_undo_node *node, struct vel_undo_node *dir,
                        const char *name);

/* The present path of a name in a directory; NULL when the directory is gone or memory
 * is out. The caller frees it. */
char *vel_undo_path(const struct vel_undo_node *dir, const char *name);

/* "<aside>/<n>" */
char *vel_undo_aside_path(const struct vel_undo_log *log, unsigned n);

/* A change of the name `path` (and, for MOVED, of the name `from`) that has happened.
 */
struct vel_undo_change *vel_undo_change_add(struct vel_undo_log *log,
                                            enum vel_undo_what what,
                                            struct vel_undo_node *node,
                                            const char *path, const char *from);

/* An fsync: what the file or directory has had until now is durable. */
void vel_undo_settle(struct vel_undo_log *log, struct vel_undo_node *node);

/* Play back. */
int vel_undo_lose(struct vel_undo_log *log, enum vel_fs_loss loss, uint64_t seed,
                  struct vel_err *err);

#endif
