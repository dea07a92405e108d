/* SPDX-License-Identifier: BSD-3-Clause */
/* logfile - a vel_log sink that appends whole lines to a file.
 *
 * Several processes may share the file: each line goes out in one append. When the file
 * cannot be written any more, standard error is told so once and gets all further
 * lines. Lines are not synced: a power loss may take the last ones.
 */
#ifndef VEL_SYS_LOGFILE_H
#define VEL_SYS_LOGFILE_H

#include "base/log.h"
#include "sys/fs.h"

struct vel_logfile;

/* Open or create (0644) the file. fs must outlive it. */
int vel_logfile_open(struct vel_fs *fs, const char *path, struct vel_logfile **ret_file,
                     struct vel_err *err);

/* Not before vel_log_open() has installed another sink. The first failure to write is
 * returned, also when standard error was told. */
int vel_logfile_close(struct vel_logfile *file, struct vel_err *err);

/* A vel_log_write_f: `arg` is the struct vel_logfile. Called by vel_log, which lets one
 * thread in at a time. */
void vel_logfile_write(void *arg, enum vel_log_level level, const char *line,
                       size_t len);

#endif
