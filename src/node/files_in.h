/* SPDX-License-Identifier: BSD-3-Clause */
/* files_in - the parts of node/files: what a process knows of itself (files_here.c),
 * where files are (files.c), those that are open (files_open.c).
 */
#ifndef VEL_NODE_FILES_IN_H
#define VEL_NODE_FILES_IN_H

#include "conf/conf.h"
#include "node/client.h"
#include "node/files.h"
#include "node/view.h"
#include "sys/clock.h"
#include "sys/fs.h"

/* A name as the program gives it. */
struct vel_file_name {
    char *path; /* absolute, without links: so leaders are told */
    char *name; /* in the cache */
    bool is_there;
};
void vel_file_name_fini(struct vel_file_name *name);

/* --- files_here.c --- */

enum vel_files_need {
    VEL_FILES_LOOKS, /* leaves no trace where nothing was cached before */
    VEL_FILES_MAKES,
};

/* The leader's client; *ret_client NULL: files are at their own paths, which was told
 * if it had to be. Fails when the settings are wrong. */
int vel_files_here(const struct vel_files_of *of, enum vel_files_need need,
                   struct vel_client **ret_client, struct vel_err *err);

/* After that. False: the file stays at its own path, as it would without us. */
bool vel_files_resolve(const char *name, bool writes, struct vel_file_name *ret);

/* After that; the settings in force. */
const struct vel_conf *vel_files_conf(void);

/* What the view says when no leader does: VEL_ENOENT: nothing of this name. */
int vel_files_ask_view(const char *name, struct vel_err *err);

/* What launches before this one have left. Waits until that is decided. VEL_ENOENT:
 * nothing, since no program has used the prefix, or ENABLE=0. */
int vel_files_view(struct vel_view *ret, struct vel_err *err);

const char *vel_files_prefix(void);
const char *vel_files_dir(void); /* PREFIX/.veloc */
int64_t vel_files_rank(void);

struct vel_client *vel_files_client(void); /* NULL: none, as in a forked child */

/* --- files_open.c --- */

/* Of those that are open here; NULL: it is not. To be settled. */
struct vel_file *vel_file_find(const char *path);

/* It is removed: what still has it open has no name for it. */
void vel_file_forget(const char *path);

/* A file has its place. NULL: there is no memory. To be settled. */
struct vel_file *vel_file_add(const struct vel_file_name *name,
                              const struct vel_place *place, bool is_new);

const char *vel_file_place(const struct vel_file *file);

#endif
