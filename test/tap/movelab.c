/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/crc.h"
#include "base/log.h"
#include "tap/manual_clock.h"
#include "tap/rng.h"
#include "tap/files.h"
#include "tap/movelab.h"
#include "tap/tap.h"

static const size_t sizes[MOVELAB_FILES] = {100001, 0, 4096};
static const char *const names[MOVELAB_FILES] = {"a", "b", "c"};

static void keep_warning(void *arg, enum vel_log_level level, const char *line,
                         size_t len)
{
    struct movelab *lab = arg;
    size_t used = strlen(lab->warnings);

    (void)level;
    snprintf(lab->warnings + used, sizeof lab->warnings - used, "%.*s", (int)len, line);
    lab->nwarnings++;
}

static void make_file(struct movelab *lab, size_t i)
{
    unsigned char *bytes = malloc(sizes[i] + 1);
    const struct timespec times[2] = {{1000000000, 0}, {1200000000, 5000}};
    struct vel_rng rng;

    if (!bytes)
        bail_out("out of memory");
    vel_rng_init(&rng, i + 1);
    vel_rng_fill(&rng, bytes, sizes[i]);
    snprintf(lab->from[i], sizeof lab->from[i], "%s/%s", lab->from_dir, names[i]);
    snprintf(lab->to[i], sizeof lab->to[i], "%s/sub/.%s.h5v-7.tmp", lab->to_dir,
             names[i]);
    tap_put_bytes(lab->from[i], bytes, sizes[i]);
    chmod(lab->from[i], 0640);
    utimensat(AT_FDCWD, lab->from[i], times, 0);
    lab->files[i] = (struct vel_xfer_file){.from = lab->from[i],
                                           .to = lab->to[i],
                                           .size = sizes[i],
                                           .crc = vel_crc32c(0, bytes, sizes[i]),
                                           .has_crc = true};
    lab->bytes += sizes[i];
    free(bytes);
}

void movelab_init(struct movelab *lab, int type)
{
    static char plugins[1100];
    const struct vel_log_sink sink = {
        .level = VEL_LOG_WARN, .is_speaker = true, .write = keep_warning, .arg = lab};

    memset(lab, 0, sizeof *lab);
    snprintf(lab->from_dir, sizeof lab->from_dir, "%s", tap_path("from"));
    snprintf(lab->to_dir, sizeof lab->to_dir, "%s", tap_path("to"));
    tap_fresh_dir(lab->from_dir);
    tap_fresh_dir(lab->to_dir);
    for (size_t i = 0; i < MOVELAB_FILES; i++)
        make_file(lab, i);
    snprintf(plugins, sizeof plugins, "%s/test/sdk/.libs", getenv("top_builddir"));
    vel_manual_clock_init(&lab->clock, VEL_CLOCK_S, 0);
    lab->steps_left = -1;
    lab->setup = (struct vel_transport_setup){
        .type = type,
        .dir = plugins,
        .rank = 3,
        .clock = &lab->clock.clock,
    };
    lab->how = (struct vel_copy_how){
        .fs = vel_fs_posix(), .chunk = 8192, .keeps_metadata = true};
    vel_log_open(&sink);
}

int movelab_open(struct movelab *lab)
{
    return vel_transport_open(&lab->setup, &lab->transport, &lab->err);
}

void movelab_close(struct movelab *lab)
{
    vel_transfer_destroy(lab->transfer);
    vel_transport_close(lab->transport);
    vel_manual_clock_fini(&lab->clock);
    vel_log_open(NULL);
}

static bool step(void *arg, uint64_t bytes)
{
    struct movelab *lab = arg;

    lab->moved += bytes;
    return lab->steps_left < 0 || lab->steps_left-- > 0;
}

int movelab_start(struct movelab *lab)
{
    lab->moved = 0;
    return vel_transfer_start(lab->transport, &lab->how, lab->from_dir, lab->files,
                              MOVELAB_FILES, &lab->transfer, &lab->err);
}

int movelab_wait(struct movelab *lab)
{
    const struct vel_watch watch = {step, lab};

    return vel_transfer_wait(lab->transfer, &watch, lab->copied, &lab->err);
}

int movelab_move(struct movelab *lab)
{
    int rc = movelab_start(lab);

    if (rc == 0)
        rc = movelab_wait(lab);
    vel_transfer_destroy(lab->transfer);
    lab->transfer = NULL;
    return rc;
}

static bool is_whole(const char *path, const struct vel_xfer_file *file)
{
    size_t len = 0;
    char *bytes = tap_get_file(path, &len);
    bool same = bytes && len == file->size && vel_crc32c(0, bytes, len) == file->crc;

    free(bytes);
    return same;
}

bool movelab_arrived(const struct movelab *lab)
{
    bool all = true;

    for (size_t i = 0; i < MOVELAB_FILES; i++) {
        const struct vel_xfer_file *f = &lab->files[i];
        struct stat st;

        all &= is_whole(f->from, f) && is_whole(f->to, f) && stat(f->to, &st) == 0 &&
               (st.st_mode & 0777) == 0640 && st.st_mtim.tv_sec == 1200000000 &&
               st.st_mtim.tv_nsec == 5000 && lab->copied[i].crc == f->crc &&
               lab->copied[i].mode == 0640;
    }
    return all;
}

bool movelab_clean(const struct movelab *lab)
{
    bool all = true;

    for (size_t i = 0; i < MOVELAB_FILES; i++)
        all &= is_whole(lab->files[i].from, &lab->files[i]) &&
               !vel_fs_exists(vel_fs_posix(), lab->files[i].to);
    return all;
}

bool movelab_says(const struct movelab *lab, const char *part)
{
    return strstr(lab->err.text, part);
}

bool movelab_warned(const struct movelab *lab, const char *part)
{
    return strstr(lab->warnings, part);
}
