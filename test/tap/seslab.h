/* SPDX-License-Identifier: BSD-3-Clause */
/* seslab - sessions whose ranks write files that can be told again: every byte follows
 * from a seed, the version, the rank and the number of the file. */
#ifndef TEST_TAP_SESLAB_H
#define TEST_TAP_SESLAB_H

#include "engine/session.h"
#include "tap/fs_fault.h"

enum { SESLAB_FILES = 3, SESLAB_SETTINGS = 14, SESLAB_TEXT = 512 };

/* What all ranks know; nothing in it changes while a job runs. */
struct seslab {
    char prefix[512], cache[512];
    uint64_t seed;
    size_t most;                              /* bytes of a file */
    const char *file;                         /* of settings, or NULL */
    bool has_same_names;                      /* in every version, and the same sizes */
    bool has_leaders;                         /* real ones, which sweep */
    const char *settings[SESLAB_SETTINGS][2]; /* beside these two; ends with NULL */
    struct vel_clock *clock;                  /* NULL: the system's */
    struct vel_fs *leaders_fs;                /* of a stand-in; NULL: the system's */
};

#define SESLAB_NAME "state"

/* A lab with an empty prefix and an empty cache below the test's directory. */
void seslab_init(struct seslab *lab, uint64_t seed);

/* Give one more setting. */
void seslab_set(struct seslab *lab, const char *key, const char *value);

/* The cache of a virtual node; the last 8 results stay good. */
const char *seslab_node(const struct seslab *lab, int node);

/* Collective over comm, of which the session gets a copy. All ranks are of this
 * process, where a stand-in (standin.h) does the work of their leaders. */
int seslab_open(const struct seslab *lab, struct vel_comm *comm, struct vel_fs *fs,
                struct vel_session **ret_session, struct vel_err *err);
int seslab_open_with(const struct seslab *lab, struct vel_comm *comm, struct vel_fs *fs,
                     struct vel_background *background,
                     struct vel_session **ret_session, struct vel_err *err);

/* Collective. A checkpoint: begin, write this rank's files through the session's file
 * system, and complete. A failure to write makes the program say that the files are not
 * valid, and is what is returned. */
int seslab_begin(const struct seslab *lab, struct vel_session *session, int64_t version,
                 struct vel_err *err);
int seslab_write(const struct seslab *lab, struct vel_session *session, int64_t version,
                 struct vel_err *err);
int seslab_checkpoint(const struct seslab *lab, struct vel_session *session,
                      int64_t version, struct vel_err *err);

/* Collective. The newest version that can be restored, 0 for none. */
int seslab_newest(struct vel_session *session, int64_t *ret_version,
                  struct vel_err *err);

/* Collective. Restart from a version, and compare every byte. */
int seslab_restart(const struct seslab *lab, struct vel_session *session,
                   int64_t version, struct vel_err *err);

/* What nobody will ever use or remove: temporary files, directories and files of
 * datasets that the index does not know, datasets of which the caches have some parts
 * only. How many, and what the first is. */
int seslab_strays(const struct seslab *lab, char ret_first[SESLAB_TEXT]);

/* The highest number of a dataset of which anything is found. */
int64_t seslab_last_id(const struct seslab *lab);

/* The number of the newest dataset of that version in the index; 0: there is none. */
int64_t seslab_id(const struct seslab *lab, int64_t version);

/* Is a dataset of that version on the prefix, whole, as its index says? */
bool seslab_is_flushed(const struct seslab *lab, int64_t version);

#endif
