/* SPDX-License-Identifier: BSD-3-Clause */
/* files_in - the parts of process/files: what a process knows of itself (files_here.c),
 * where files are (files.c), those that are open (files_open.c), or of a session's
 * datasets (files_session.c).
 */
#ifndef VEL_PROCESS_FILES_IN_H
#define VEL_PROCESS_FILES_IN_H

#include "conf/conf.h"
#include "engine/session.h"
#include "link/client.h"
#include "process/files.h"
#include "process/launcher.h"
#include "sys/clock.h"
#include "sys/fs.h"
#include "view/view.h"

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

/* The leader's client; NULL: files are at their own paths, which was told if it had to
 * be. */
struct vel_client *vel_files_here(const struct vel_files_of *of,
                                  enum vel_files_need need);

/* Only the settings. False: files are as they are without us, by ENABLE=0 or since the
 * settings cannot be used, which was told. */
bool vel_files_know(const struct vel_files_of *of);

/* After that, where it is true; the settings in force. */
const struct vel_conf *vel_files_conf(void);

/* What the view says when no leader does: VEL_ENOENT: nothing of this name. */
int vel_files_ask_view(const char *name);

/* What launches before this one have left. Waits until that is decided. VEL_ENOENT:
 * nothing, since no program has used the prefix, or ENABLE=0. */
int vel_files_view(struct vel_view *ret, struct vel_err *err);

const char *vel_files_prefix(void);
const char *vel_files_dir(void); /* PREFIX/.veloc */
struct vel_index *vel_files_index(void);
char *vel_files_launch_dir(void); /* below it, a new string; NULL: in no launch */
const struct vel_launcher *vel_files_launcher(void);
const char *vel_files_user(void);

struct vel_client *vel_files_client(void); /* NULL: none, as in a forked child */

/* --- files_name.c --- */

/* Without links, a new string; NULL: it has none, or there is no memory. */
char *vel_files_real_path(const char *name);

/* Who opens a file at its own path: is it one? What stands there may be a stub, whose
 * bytes nobody here can tell of. */
int vel_files_check_own(const char *name, struct vel_err *err);

/* After vel_files_here(). False: the file stays at its own path, as it would without
 * us. */
bool vel_files_resolve(const char *name, bool writes, struct vel_file_name *ret);

/* The same for a prefix without links. */
bool vel_files_resolve_below(const char *prefix, const char *name, bool writes,
                             struct vel_file_name *ret);

/* --- files_ask.c --- */

/* MODE=SYNC: the close of the file at `path` has made that dataset whole (0: none;
 * VEL_MSG_ANY_NUMBER: one that cannot be sealed). Returns when it is encoded, and on
 * the prefix if it is to come there. A flush that stands still is a warning. */
int vel_files_wait_for(struct vel_client *client, const char *path, int64_t dataset,
                       struct vel_err *err);

/* --- files_session.c: files of a session's datasets --- */

/* Does the dataset that is being written take the file that is made, or opened to be
 * written? Then it is answered. */
int vel_files_session_write(const struct vel_files_of *of, const char *name,
                            enum vel_create how, bool is_new, bool *ret_is_taken,
                            struct vel_file_answer *ret, struct vel_err *err);

/* The last close of such a file of dataset `id`; is_fresh: its open has made it a part.
 */
int vel_files_session_close(const char *path, int64_t id, bool is_fresh,
                            enum vel_file_was was, struct vel_err *err);

/* It goes on at its own path, of which it is a part there. */
int vel_files_session_move(const char *path, int64_t id, struct vel_err *err);

/* Where the session would read it; false: in no dataset. To be freed: ret->path. */
bool vel_files_session_find(const char *name, struct vel_session_found *ret);

/* What a leader has answered, of a file of that dataset (0: of none yet), becomes what
 * was found, unless that is older. */
void vel_files_session_read(struct vel_session_found *found, int64_t dataset,
                            struct vel_file_answer *ret);

bool vel_files_has_session(void);

/* It is none of the dataset that is being written any more. True: and that is all there
 * was of it. */
bool vel_files_session_remove(const char *name);

/* --- files_restart.c --- */

/* With FLUSH_ON_RESTART or GLOBAL_RESTART: what caches have of that name, of a launch
 * before, is on the prefix before it is opened; where it cannot be so STRICT makes that
 * an error. */
int vel_files_restart(struct vel_client *client, const struct vel_file_name *name,
                      struct vel_err *err);

/* With RESTART=REQUIRE: fails while a dataset of a launch before is missed. */
int vel_files_require(struct vel_err *err);

/* --- files.c --- */

/* A file that is open here already is opened once more. False: it is not. */
bool vel_file_join(const struct vel_file_name *name, struct vel_file_answer *ret);

/* --- files_live.c --- */

/* Is the file, as a line or the lack of one says, written at its own path? Of what may
 * be of a family that is not known without a leader. */
bool vel_files_is_live(const struct vel_files_of *of, const struct vel_file_name *name);

/* Has it a journal when it is written at its own path? A line may say no. */
bool vel_files_may_journal(const struct vel_file_name *name);

/* --- files_tell.c --- */

/* A file is written at its own path: as a line says, or since none has it; */
void vel_files_tell_live(const struct vel_file_name *name);
/* for another reason, NULL or "": none; */
void vel_files_tell_own(const struct vel_file_name *name, const char *why);
/* since it could not be had otherwise, of which the first is a warning; */
void vel_files_tell_failed(const struct vel_file_name *name, const struct vel_err *why);
/* if that is for where it is. */
void vel_files_tell_outside(const char *name);

/* A live file is made: when it is the second time, the first such is told to a person,
 * with the line that protects the older version. */
void vel_files_tell_anew(const struct vel_file_name *name);

/* No line has it, but one means its name in another directory. */
void vel_files_tell_elsewhere(const struct vel_file_name *name);

/* One that was protected is not any more. */
void vel_files_tell_home(const char *path, const char *why);

/* Which settings do nothing for the files that are made; of one process at a time. */
void vel_files_tell_unheeded(void);

/* All is over: what has become of the files. */
void vel_files_tell_end(void);

/* --- files_agree.c --- */

/* The process is in launch of->fresh, and has no leader yet. NULL: the settings
 * of->conf are those of the launch, or that cannot be known. Else it was told that they
 * are not: new ones, which are of->conf with what all processes must have in common. */
struct vel_conf *vel_files_agree(const struct vel_background_of *of);

/* --- files_hold.c --- */

/* What a process knows of itself; borrowed. */
struct vel_files_self {
    const struct vel_conf *conf;
    const char *dir, *cwd;
    char *node, *user;
};

/* Who was started by a rank of the launch has no rank: it is taken from *launcher. */
int vel_files_name_launch(const struct vel_files_self *self,
                          struct vel_launcher *launcher, char ret[VEL_LAUNCH_ROOM],
                          struct vel_err *err);

/* Before it is locked and its leader hears of it. VEL_EBUSY: another launch writes
 * files of all ranks under such names. */
int vel_files_may_write(struct vel_client *client, const struct vel_file_name *name,
                        struct vel_err *err);

enum vel_hold_how { VEL_HOLD_READ, VEL_HOLD_CHANGE, VEL_HOLD_MAKE };

/* What stands at `path` is held, locked if HDF5 locks what it opens (of->locks); to
 * make a file an empty one is made there where nothing stands. *ret is NULL where
 * nothing does. VEL_EBUSY, in HDF5's words: another program has it locked. */
int vel_hold_take(const struct vel_files_of *of, const char *path,
                  enum vel_hold_how how, struct vel_hold **ret, struct vel_err *err);

enum vel_hold_now {
    VEL_HOLD_STANDS,  /* nobody else has done anything to it */
    VEL_HOLD_CHANGED, /* it has what somebody else has written into it */
    VEL_HOLD_GONE,    /* its name was taken away: by unlink, or a rename over it */
};

/* What has become of what is held; a file of `name` that a dataset has put in its place
 * is what it was to be. *ret_path: where it is now, a new string, or NULL: where it
 * was. Accepts NULL. */
enum vel_hold_now vel_hold_look(const struct vel_hold *hold, const char *name,
                                char **ret_path);

/* Is that file held? Accepts NULL. */
bool vel_hold_is(const struct vel_hold *hold, const struct stat *file);

/* The file does not come into being: what was made for it goes. NULL is nothing. */
void vel_hold_give_up(struct vel_hold *hold);

/* What is open as `fd` has come to its path; locks: and is locked if that was. NULL is
 * nothing. */
void vel_hold_move(struct vel_hold *hold, int fd, bool locks);

/* --- files_reading.c --- */

/* The path of a file that is open here to be read, a new string; NULL: it is not. */
char *vel_reading_path(const char *name);

/* Is the file at that place open here to be read? */
bool vel_reading_is_of(const char *place);

/* --- files_open.c --- */

/* Of those that are open here; NULL: it is not. To be settled. */
struct vel_file *vel_file_find(const char *path);

/* A file that is open here was called so, and has been removed or renamed. */
bool vel_file_has_gone(const char *path);

/* It is removed: what still has it open has no name for it. */
void vel_file_forget(const char *path);

/* A file has its place. NULL: there is no memory. To be settled. */
struct vel_file *vel_file_add(const struct vel_file_name *name,
                              const struct vel_place *place, bool is_new);

const char *vel_file_place(const struct vel_file *file);

/* Until its last close. */
void vel_file_holds(struct vel_file *file, struct vel_hold *hold);

/* It is a part of that dataset of the session, made one by this open when it
 * `is_fresh`: its leader knows nothing of it. */
void vel_file_is_of(struct vel_file *file, int64_t dataset, bool is_fresh);

/* The path of one of that dataset that is open, a new string; NULL: none is. */
char *vel_file_open_of(int64_t dataset);

#endif
