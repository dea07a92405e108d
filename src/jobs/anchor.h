/* SPDX-License-Identifier: BSD-3-Clause */
/* anchor - what stands at a file's own path until it is flushed: the previous version,
 * or for a new name a stub; and where that path is now (doc/life.txt, 5).
 *
 * The program owns its directory: it may rename, link, unlink or replace what stands
 * there at any moment. So nothing is believed but what is looked at just before it is
 * acted upon, and what is neither free nor ours is someone else's and stays.
 */
#ifndef VEL_JOBS_ANCHOR_H
#define VEL_JOBS_ANCHOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "jobs/stub.h"
#include "sys/fs.h"

struct vel_anchor {
    char *name; /* cached name of the file that will be published */
    char *path; /* where it stood, absolute */
    bool is_stub;
    uint64_t mark;  /* of the stub */
    uint64_t inode; /* 0: an older dataset has published the file already */
    uint64_t size;
    int64_t mtime_s;
    uint32_t mtime_ns;
    bool is_patched; /* a flush of ours changes it in place: size and time tell nothing
                      */
};

void vel_anchor_fini(struct vel_anchor *anchor);

/* What stands at `path` becomes the anchor of file `name`; a stub of `launch` is made
 * where nothing does, or an empty file. VEL_EINVAL: something that is no regular file
 * stands there. */
int vel_anchor_set(struct vel_fs *fs, const char *path, const char *name,
                   const struct vel_stub_maker *maker, struct vel_anchor *ret,
                   struct vel_err *err);

/* What stands at `path` now is what *ret is known by; its texts stay. */
int vel_anchor_look(struct vel_fs *fs, const char *path, struct vel_anchor *ret,
                    struct vel_err *err);

/* The same, after an empty file there, as HDF5 begins with one, has become a stub; who
 * may not write into it leaves it empty. */
int vel_anchor_renew_at(struct vel_fs *fs, const char *path, const char *launch,
                        struct vel_anchor *ret, struct vel_err *err);

/* --- following them --- */

struct vel_anchor_hold {
    const struct vel_anchor *anchor; /* borrowed */
    int fd;                 /* O_PATH; below 0: nobody held it, paths have to tell */
    uint64_t inode, device; /* of what is held */
};

/* Hold what stands at the anchor's path, if it is still the anchor: as soon as it is
 * made. Without it (adopted; renamed before we came) the anchor is followed by path. */
void vel_anchor_hold(struct vel_fs *fs, const struct vel_anchor *anchor,
                     struct vel_anchor_hold *ret);
void vel_anchor_release(struct vel_fs *fs, struct vel_anchor_hold *hold);

enum vel_anchor_now {
    VEL_ANCHOR_STANDS,   /* at *ret_path, perhaps another one than before */
    VEL_ANCHOR_UNLINKED, /* the program has removed it: its file is cancelled */
    VEL_ANCHOR_FOREIGN,  /* *ret_path is someone else's now */
    VEL_ANCHOR_HIDDEN,   /* it has a name, but nobody here knows which */
};

/* Its names are gone: unlinked. *ret_path is a new string; NULL when unlinked or
 * hidden. */
int vel_anchor_follow(struct vel_fs *fs, const struct vel_anchor_hold *hold,
                      enum vel_anchor_now *ret_now, char **ret_path,
                      struct vel_err *err);

enum vel_anchor_end {
    VEL_ANCHOR_PUBLISHED, /* the file stands at *ret_path */
    VEL_ANCHOR_CANCELLED, /* nothing was done: the program has removed the name */
    VEL_ANCHOR_LEFT,      /* nothing was done: *ret_path is someone else's */
    VEL_ANCHOR_BESIDE,    /* published as NAME.h5veloc-D, since its name is not known */
};

/* Rename `temporary`, a whole and synced file of dataset `id` on the same file system,
 * over the anchor where it stands now; other links of it in that directory become links
 * of the new file. The temporary stays unless it was published. Warns of what was
 * published beside. */
int vel_anchor_publish(struct vel_fs *fs, const struct vel_anchor_hold *hold,
                       int64_t id, const char *temporary, enum vel_anchor_end *ret_end,
                       char **ret_path, struct vel_err *err);

/* "<path>.h5veloc-D", a new string; NULL when out of memory. */
char *vel_anchor_beside(const char *path, int64_t id);

/* What was left comes beside what stands at `path`: *ret_path. */
int vel_anchor_publish_beside(struct vel_fs *fs, const char *path, int64_t id,
                              const char *temporary, char **ret_path,
                              struct vel_err *err);

/* An older file has been published at `path` over `older`. If that was this anchor as
 * well, as of a name that is written again before it is flushed, then the file is the
 * anchor from now on, and held; *ret_renewed tells, and that has to be said. */
int vel_anchor_renew(struct vel_fs *fs, const struct vel_anchor *older,
                     const char *path, struct vel_anchor *anchor,
                     struct vel_anchor_hold *hold, bool *ret_renewed,
                     struct vel_err *err);

#endif
