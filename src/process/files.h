/* SPDX-License-Identifier: BSD-3-Clause */
/* files - the files of a process that writes and reads them by HDF5, and knows nothing
 * of us: where each of them is, and that it was closed (doc/protocol.txt, 5;
 * doc/life.txt, 4 and 14).
 *
 * Nothing happens before a file is asked for; then the settings are read, and the
 * leader of this node is found or this process leads. What cannot be had from a leader
 * is done without: a file that is written stays at its own path, with one warning. A
 * file that is read is never said to be missing because a leader is silent.
 *
 * One for the process. Any thread may call. A forked child has none of this: its files
 * are at their own paths, and what it has inherited belongs to its parent.
 */
#ifndef VEL_PROCESS_FILES_H
#define VEL_PROCESS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "process/orderly.h"

/* What the caller knows; but for is_shared only the first that asks is listened to. */
struct vel_files_of {
    const char *config;   /* the user's settings; NULL: where they are else */
    const char *unlisted; /* the setting of that name; NULL: not said */
    const char *dataset;  /* what a line has behind DATASET=; NULL: none */
    /* Of this call: others may write the file at the same time, without locks: only a
     * line makes it one of a dataset, and what is there is changed at its own path. */
    bool is_shared;
    bool locks; /* of this call, too: HDF5 locks what it opens */
    /* The descriptors of files that HDF5 has open, one by one: false behind the last.
     * Below 0: it has none, or none that is known. NULL: that is not known. */
    bool (*descriptor)(size_t i, int *ret_fd);
    /* Which of how many ranks MPI says this is. NULL, or false: as the launcher says */
    bool (*rank)(int64_t *ret_rank, int64_t *ret_ranks);
    struct vel_orderly_mpi mpi; /* of the program */
};

enum vel_file_at {
    VEL_FILE_OWN,     /* at its own path, if anywhere: as without us */
    VEL_FILE_CACHED,  /* at `path` */
    VEL_FILE_AWAY,    /* it is there, and can be brought here */
    VEL_FILE_MISSING, /* it is lost, whatever stands at its path: `why` */
    VEL_FILE_HELD,    /* at `path`, open to be read, and so not to be written */
    VEL_FILE_TAKEN,   /* it cannot be new: it is there already, and not at its path */
};

/* A file that is written in the cache, open once or more. */
struct vel_file;

/* A lock of what stands at the path of a file in the cache, while that is open: others
 * are kept out as HDF5 would. NULL is nothing. */
struct vel_hold;
void vel_hold_end(struct vel_hold *hold);

/* Makes of the first bytes of an open file those of a closed one, and says how many. */
typedef size_t vel_file_head_f(void *bytes, size_t len);

struct vel_file_answer {
    enum vel_file_at at;
    char *path;
    char *why;        /* also of one at its own path: why it is not protected */
    bool has_journal; /* at its own path: one undoes what a death leaves half done */
    char *changed; /* below the prefix, and made, or opened to be written: its path */
    struct vel_file *file; /* to be settled; NULL: it is only read, or not ours */
    struct vel_hold *hold; /* of one that is only read; NULL: none */
    bool is_off;           /* ENABLE=0 */
};
void vel_file_answer_fini(struct vel_file_answer *answer);

/* The program begins: the working directory of now is the prefix, unless PREFIX is set.
 * Without it, that of the first file. */
void vel_files_begin(void);

/* A file is made, or opened to be written, that is none of ours for this reason. Rank 0
 * warns of the first that a DATASET line has. */
void vel_files_native(const struct vel_files_of *of, const char *name, const char *why,
                      struct vel_file_answer *ret);

/* It is open: the first time, on rank 0, a person is told what becomes of it. */
void vel_files_tell(const struct vel_file_answer *answer);

/* Where shall the file be made that the program calls `name`, and that must not be
 * there yet when it `is_new`? */
int vel_files_create(const struct vel_files_of *of, const char *name, bool is_new,
                     struct vel_file_answer *ret, struct vel_err *err);

/* Where is it, to be opened? Waits until it is here. */
int vel_files_open(const struct vel_files_of *of, const char *name, bool writes,
                   struct vel_file_answer *ret, struct vel_err *err);

/* It is to be opened at its own path, by another driver, or to be read while it is
 * written: what caches have comes there first. joins: by the driver of one that this
 * process has open in the cache, too, and that is the answer then. */
int vel_files_open_own(const struct vel_files_of *of, const char *name, bool joins,
                       struct vel_file_answer *ret, struct vel_err *err);

/* Is it there? */
int vel_files_look(const struct vel_files_of *of, const char *name,
                   struct vel_file_answer *ret, struct vel_err *err);

/* It is going to be removed by who asks. *ret_is_gone: nothing is left to be removed.
 */
int vel_files_remove(const struct vel_files_of *of, const char *name, bool *ret_is_gone,
                     struct vel_err *err);

/* Who was given a file has opened it, or could not: once for each answer. Returns
 * whether another way is left: nobody else has it open, and it never was. */
bool vel_file_settle(struct vel_file *file, bool is_open);

/* What its driver does. The last close of a settled file makes it complete, if all that
 * was written was written well. When that cannot be told to a leader, the file is
 * brought to its own path. One that was there, and was not changed, is given up. */
enum vel_file_was { VEL_FILE_READ, VEL_FILE_WRITTEN, VEL_FILE_BROKEN };
void vel_file_opened(struct vel_file *file);
int vel_file_closed(struct vel_file *file, enum vel_file_was was, struct vel_err *err);

/* The journal of a file that is open to be written at its own path, as `fd`; NULL: it
 * goes without, which was told. */
struct vel_journal; /* log/journal.h */
struct vel_journal *vel_files_journal(const char *name, int fd, vel_file_head_f *head);

/* Who opens a file at its own path: a process that died while it wrote the file has
 * left a journal, by which it is brought back to its newest flush. Fails when it should
 * be, and cannot. */
int vel_files_mend(const struct vel_files_of *of, const char *name,
                   vel_file_head_f *head, struct vel_err *err);

/* It is made anew: what a journal says of it concerns nobody any more. */
void vel_files_forget_journal(const char *name);

/* Its driver has opened a file to be read, at that place (NULL: its own path), until
 * the end. NULL: there is no memory to know it again. */
struct vel_reading;
struct vel_reading *vel_reading_begin(const char *name, const char *place);
void vel_reading_end(struct vel_reading *reading);

/* Somebody has removed it from the cache, while it was open. */
bool vel_file_is_gone(const struct vel_file *file);

/* It cannot be written where it is, is gone, or is not to be there, as `why` says: what
 * is there, or at `from`, is copied to its own path, where its driver goes on with
 * *ret_fd; locks: and locked if what stood there was. */
int vel_file_move_home(struct vel_file *file, const char *from, const char *why,
                       bool locks, int *ret_fd, struct vel_err *err);

/* What has been written until now is consistent: a version point, which is found when
 * the process is killed. Of those that come too fast one after another some are left
 * out, but not the last while nothing is written after it. */
void vel_file_flushed(struct vel_file *file, vel_file_head_f *head);

/* Before anything is written into it. */
void vel_file_changes(struct vel_file *file);

/* What this thread writes from now on belongs to the close of a file, or not. */
void vel_files_closing(bool is_so);

/* The session of this process; NULL: it has none any more. Files that are made, or
 * opened to be written, between its start and its complete belong to that dataset.
 * Nothing of files is called while the session works. */
struct vel_session; /* engine/session.h */
void vel_files_join(struct vel_session *session);

/* It is closed: messages of files go where their own settings say. */
void vel_files_go_on(void);

/* The launch that the files are in already, as vel_attend_launch(). */
struct vel_background_of; /* engine/background.h */
const char *vel_files_launch(const struct vel_background_of *of, bool *ret_differs);
/* Its dataset is to be completed: fails when one of these files is still open, or could
 * not be written. */
int vel_files_settle(struct vel_err *err);

/* The process ends: in good order, and after what is owed was done. By itself at the
 * end of a program; afterwards, files are at their own paths. */
void vel_files_leave(void);

#endif
