/* SPDX-License-Identifier: BSD-3-Clause */
/* about - record "launch-here": what a leader must know of a launch, in the directory
 * of its role. All its processes try to write it, one does, so that an agent can lead;
 * and in the launch's directory on the prefix, for agents on other nodes
 * (doc/protocol.txt, 5).
 */
#ifndef VEL_NODE_ABOUT_H
#define VEL_NODE_ABOUT_H

#include "conf/conf.h"
#include "node/service.h"

struct vel_about {
    struct vel_host host; /* the node, and the user */
    char *launch, *prefix, *dir, *prefix_id, *named;
    char *who; /* whose settings they are, for people; NULL: it does not say */
    char **homes;
    size_t n_homes;
    int64_t ranks; /* 0: not known */
    bool is_guest;
    struct vel_conf *conf;
};

/* Of what a leader here is told, beside the socket at `endpoint` (vel_role_endpoint()).
 * Written when there is none. */
int vel_about_save(const struct vel_service_of *of, const char *endpoint,
                   struct vel_err *err);

/* The same in `dir`, the launch's directory on the prefix. */
int vel_about_share(const struct vel_service_of *of, const char *dir,
                    struct vel_err *err);

/* From the directory `dir` of a role, or of a launch. VEL_ENOENT: none is there. */
int vel_about_load(struct vel_fs *fs, const char *dir, struct vel_about *ret,
                   struct vel_err *err);
void vel_about_fini(struct vel_about *about);

/* Which caches has the launch named, in whose directory `dir` that stands, that `conf`
 * does not name? "A, B", appended; nothing when that is not known. */
void vel_about_elsewhere(struct vel_fs *fs, const char *dir,
                         const struct vel_conf *conf, struct vel_buf *ret);

/* Has the launch an end, or are its records gone? */
bool vel_about_is_over(struct vel_fs *fs, const struct vel_about *about);

/* Remove the directories of roles of which nobody lives here: of launches of the prefix
 * with the records `dir` that are over, and those that nobody can lead. What cannot be
 * removed stays for the next. */
void vel_about_sweep(struct vel_fs *fs, const struct vel_host *host, const char *base,
                     const char *dir);

#endif
