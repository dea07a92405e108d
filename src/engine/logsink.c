/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "engine/logsink.h"

/* SCR's DEBUG is another way to ask for more. */
static enum vel_log_level level_of(const struct vel_conf *conf)
{
    enum vel_log_level level = (enum vel_log_level)conf->log_level;
    enum vel_log_level asked = conf->debug >= 2   ? VEL_LOG_DEBUG
                               : conf->debug == 1 ? VEL_LOG_INFO
                                                  : VEL_LOG_ERROR;

    return asked > level ? asked : level;
}

static int open_file(const char *path, struct vel_fs *fs, const char *node,
                     struct vel_logfile **ret_file, struct vel_err *err)
{
    struct vel_buf own;
    struct stat st;
    int rc = 0;

    vel_buf_init(&own);
    if (vel_fs_lstat(fs, path, &st, NULL) == 0 && S_ISDIR(st.st_mode)) {
        vel_buf_printf(&own, "%s/h5veloc-%s.log", path, node);
        rc = vel_buf_status(&own, err);
        path = vel_buf_text(&own);
    }
    if (rc == 0)
        rc = vel_logfile_open(fs, path, ret_file, err);
    vel_buf_fini(&own);
    return rc;
}

int vel_logsink_open(const struct vel_conf *conf, struct vel_fs *fs, const char *node,
                     const struct vel_log_sink *sink, struct vel_logfile **ret_file,
                     struct vel_err *err)
{
    struct vel_log_sink own = *sink;
    struct vel_logfile *file = NULL;
    int rc = 0;

    own.level = level_of(conf);
    if (conf->log_file) {
        rc = open_file(conf->log_file, fs, node, &file, err);
        if (rc < 0)
            rc = vel_wrap(err, rc, "LOG_FILE");
        own.write = vel_logfile_write;
        own.arg = file;
    }
    if (rc < 0)
        return rc;
    vel_log_open(&own);
    vel_conf_tell_lines(conf);
    *ret_file = file;
    return 0;
}
