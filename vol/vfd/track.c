/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "push.h"
#include "vfd/track.h"

void vel_track_begin(struct vel_track *track, const char *name, const char *place,
                     unsigned flags, struct vel_file *file)
{
    track->is_own = !place;
    track->file = file;
    if (file)
        vel_file_opened(file);
    else if (!(flags & H5F_ACC_RDWR))
        track->reading = vel_reading_begin(name, place);
}

static void set_written(struct vel_track *track, herr_t rc)
{
    if (rc < 0)
        track->was = VEL_FILE_BROKEN;
    else if (track->was == VEL_FILE_READ)
        track->was = VEL_FILE_WRITTEN;
}

/* HDF5 marks every file that it may write as open, in its head, and takes that off when
 * it closes it: a file in which nothing else was written is no new one. */
static bool is_mark(struct vel_track *track, const struct vel_write *w)
{
    if (!track->file || track->was != VEL_FILE_READ || w->at != 0 ||
        w->size > VEL_TRACK_HEAD)
        return false;
    if (track->head_size == 0 && w->size <= w->class->get_eof(w->file, w->type) &&
        w->class->read(w->file, w->type, w->dxpl_id, w->at, w->size, track->head) >= 0)
        track->head_size = w->size;
    track->is_marked =
        w->size != track->head_size || memcmp(track->head, w->buf, w->size) != 0;
    return w->size == track->head_size;
}

bool vel_track_writes(struct vel_track *track, const struct vel_write *w)
{
    bool is = is_mark(track, w);

    if (!is)
        vel_track_changes(track);
    return is;
}

void vel_track_changes(struct vel_track *track)
{
    if (track->file && !track->is_own)
        vel_file_changes(track->file);
}

herr_t vel_track_done(struct vel_track *track, bool is_kept, herr_t rc)
{
    if (!is_kept || rc < 0)
        set_written(track, rc);
    return rc;
}

herr_t vel_track_end(struct vel_track *track, herr_t rc)
{
    struct vel_err err = {0};

    vel_reading_end(track->reading);
    vel_hold_end(track->hold);
    if (track->is_marked)
        set_written(track, 0);
    if (track->file &&
        vel_file_closed(track->file, rc < 0 ? VEL_FILE_BROKEN : track->was, &err) < 0)
        rc = vel_push(H5E_CANTCLOSEFILE, "%s", err.text);
    return rc;
}
