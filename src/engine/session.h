/* SPDX-License-Identifier: BSD-3-Clause */
/* session - the engine in one communicator: from reading the settings to the last
 * flush.
 *
 * Everything here is collective over the communicator unless it says "Local." A failure
 * is the same on all ranks, and names the rank where it began. Nothing of a session is
 * used by two threads at once.
 */
#ifndef VEL_ENGINE_SESSION_H
#define VEL_ENGINE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "comm/comm.h"
#include "conf/conf.h"
#include "meta/dataset.h"
#include "sys/clock.h"
#include "sys/fs.h"

struct vel_session;
struct vel_background; /* engine/background.h */

struct vel_session_setup {
    struct vel_comm *world;  /* taken over, also on failure */
    struct vel_conf *conf;   /* what the program has set; taken over, also on failure */
    struct vel_fs *fs;       /* borrowed */
    struct vel_clock *clock; /* borrowed */
    const char *user_file;   /* settings that the program names, or NULL */
    const char *unit; /* NULL, or the name of this part of a job: others that use the
                         same prefix at the same time have other names */
    struct vel_background *background; /* borrowed, on all ranks or none: who works
                                          beside the program; NULL: nobody */
    int *ret_fault; /* NULL, or what is wrong with settings for which the session does
                       not open: enum vel_topo_fault */
};

/* Settings, descriptors, directories; then what earlier launches left: datasets in the
 * caches are moved to their ranks and rebuilt, and when there is none the newest one of
 * the prefix is fetched. VEL_ECANCEL: ENABLE=0. */
int vel_session_open(const struct vel_session_setup *setup,
                     struct vel_session **ret_session, struct vel_err *err);

/* The program ends. Well, when there is a `reason`: what is owed to the prefix is
 * flushed, and the reason is noted for whoever would launch it again. NULL: all is
 * protected as it should be, and stays in the caches. The session is gone, whatever is
 * returned. A session that is NULL is nothing. */
int vel_session_close(struct vel_session *session, const char *reason,
                      struct vel_err *err);

/* Local. Belong to the session. */
const struct vel_conf *vel_session_conf(const struct vel_session *session);
struct vel_comm *vel_session_world(const struct vel_session *session);
struct vel_fs *vel_session_fs(const struct vel_session *session);
const char *vel_session_prefix(const struct vel_session *session);
bool vel_session_is_writing(const struct vel_session *session);
bool vel_session_is_reading(const struct vel_session *session);
/* The dataset that is being written; 0: none. */
int64_t vel_session_writing_id(const struct vel_session *session);

/* --- writing a dataset --- */

/* Local. About so many bytes of this rank will be in the next dataset, as far as the
 * program knows before it begins; for one that is being written it is too late. */
void vel_session_expect(struct vel_session *session, uint64_t bytes);

/* Local. A file of the dataset that is being written found no room: after it has
 * failed, one as large goes elsewhere. */
void vel_session_note_full(struct vel_session *session);

/* Local. Between start and complete: the file that was routed to `path` is written, and
 * this is its checksum, so that it need not be read when its bytes are not needed. */
void vel_session_note_sum(struct vel_session *session, const char *path, uint64_t size,
                          uint32_t crc);

/* Begin one. Its name and version are what a restart asks for; `use` are bits of enum
 * vel_use. VEL_ESTATE: one is under way already. */
int vel_session_start(struct vel_session *session, const char *name, int64_t version,
                      unsigned use, struct vel_err *err);

/* Local. Where to write, or on a restart to read, the file that the program calls
 * `path`; a new string. Between start and complete the file becomes part of the
 * dataset. Between restart_begin and restart_end it must be part of that one:
 * VEL_ENOENT. At any other time it is where the newest dataset that has it can be read.
 */
int vel_session_route(struct vel_session *session, const char *path, char **ret_path,
                      struct vel_err *err);

/* Local. The same for a file that is to be written where it belongs, past the cache: it
 * is part of the dataset all the same, but nothing protects it. */
int vel_session_route_through(struct vel_session *session, const char *path,
                              char **ret_path, struct vel_err *err);

/* Where a file of a dataset is. */
struct vel_session_found {
    char *path;
    int64_t id;        /* of its dataset */
    bool is_under_way; /* that is being written, or read */
    bool is_on_prefix; /* what stands at its own path is that, or newer */
};

/* Local. Where this rank's newest version of the file that the program calls `path` is:
 * in the dataset that is being written or read, else in the newest that has it. An
 * absolute path. VEL_ENOENT, without a sentence: in none. */
int vel_session_locate(struct vel_session *session, const char *path,
                       struct vel_session_found *ret, struct vel_err *err);

/* Local. Between start and complete: a file that was routed is none of the dataset, and
 * what there is of it goes. */
void vel_session_unroute(struct vel_session *session, const char *path);

/* All files are written, and closed. Complete when this succeeds, and protected, or
 * soon by the background; else, as when any rank says that its files are not valid,
 * gone. */
int vel_session_complete(struct vel_session *session, bool is_valid,
                         struct vel_err *err);

/* Wait until the background has done what it owes for all that was written, or cannot:
 * then why. */
int vel_session_wait(struct vel_session *session, struct vel_err *err);

/* Local. Is there nothing to wait for any more? Also when it has failed. */
int vel_session_finished(struct vel_session *session, bool *ret_finished,
                         struct vel_err *err);

/* --- reading one --- */

/* The newest version of `name` below `below` (0: any) that can be restored. VEL_ENOENT:
 * there is none. */
int vel_session_restart_test(struct vel_session *session, const char *name,
                             int64_t below, int64_t *ret_version, struct vel_err *err);

/* Make that version readable: from the cache, else fetched from the prefix. */
int vel_session_restart_begin(struct vel_session *session, const char *name,
                              int64_t version, struct vel_err *err);

/* The program has read it. Where any rank says that it was not valid the dataset will
 * not be offered again by this launch; nor by any other, unless it is other ranks that
 * read it than wrote it: that they cannot says nothing of the dataset. All are told so:
 * VEL_ECANCEL. */
int vel_session_restart_end(struct vel_session *session, bool is_valid,
                            struct vel_err *err);

/* The same for a program that cannot read it as it is now (other sizes, other files):
 * the dataset is not offered again by this launch, and nothing is held against it. */
int vel_session_restart_decline(struct vel_session *session, struct vel_err *err);

/* --- decisions; the answer of rank 0 for everyone --- */

int vel_session_need_checkpoint(struct vel_session *session, bool *ret_need,
                                struct vel_err *err);
int vel_session_exit_test(struct vel_session *session, bool *ret_exit,
                          struct vel_err *err);

/* --- what is there --- */

enum vel_session_where { VEL_WHERE_NONE, VEL_WHERE_CACHE, VEL_WHERE_PREFIX };

/* Where a restart of the newest `name` (NULL: any) would read it. */
int vel_session_where(struct vel_session *session, const char *name,
                      enum vel_session_where *ret_where, struct vel_err *err);

/* --- datasets by name and version --- */

/* Make it the one that the next launch takes; newer ones are forgotten when
 * DROP_AFTER_CURRENT says so. */
int vel_session_set_current(struct vel_session *session, const char *name,
                            int64_t version, struct vel_err *err);

/* Forget it: its files on the prefix stay where they are. Or remove those as well. */
int vel_session_drop(struct vel_session *session, const char *name, int64_t version,
                     bool with_files, struct vel_err *err);

/* Remove from the caches all versions of a name that are not needed there. */
int vel_session_clean(struct vel_session *session, const char *name,
                      struct vel_err *err);

#endif
