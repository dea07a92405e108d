/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <pthread.h>

#include "head.h"
#include "plain.h"
#include "vfd/live.h"

/* Between them the times of the file are noted. */
#define PIECE ((size_t)64 << 20)

static size_t n_journals;
static bool is_flush;

/* --- journals --- */

/* Those of the parent are the parent's. */
static void forget_in_child(void)
{
    struct vel_opened *opened;

    for (size_t i = 0; (opened = vel_opened_at(i)); i++) {
        vel_journal_abandon(opened->journal);
        opened->journal = NULL;
    }
    n_journals = 0;
}

static void begin(void)
{
    static bool is_watched;

    if (n_journals++ == 0)
        vel_plain_begin();
    if (!is_watched)
        pthread_atfork(NULL, NULL, forget_in_child);
    is_watched = true;
}

static haddr_t end_of(const struct vel_opened *opened)
{
    haddr_t eoa = opened->class->get_eoa(opened->file, H5FD_MEM_DEFAULT),
            eof = opened->class->get_eof(opened->file, H5FD_MEM_DEFAULT);

    return eoa < eof ? eoa : eof;
}

static void set_point(struct vel_opened *opened, haddr_t end)
{
    if (vel_journal_point(opened->journal, end))
        opened->point = end;
}

void vel_live_keep(struct vel_opened *opened, const char *name, bool is_new)
{
    void *handle = NULL;

    if (opened->class->get_handle(opened->file, H5P_DEFAULT, &handle) < 0)
        return;
    if (is_new)
        vel_files_forget_journal(name);
    opened->is_asked = true;
    opened->journal = vel_files_journal(name, *(const int *)handle, vel_head_closed);
    if (!opened->journal)
        return;
    begin();
    if (!is_new)
        set_point(opened, opened->class->get_eof(opened->file, H5FD_MEM_DEFAULT));
}

bool vel_live_begin(const char *name, const void *handle, bool is_new)
{
    struct vel_opened *opened = vel_opened_find_handle(handle);

    if (!opened || !opened->is_asked)
        vel_journal_tell_none(name, "HDF5 has it open already, without us");
    if (!opened || !opened->journal)
        return false;
    if (opened->handles++ > 0) /* they may be closed at different times */
        vel_plain_end();
    else if (!is_new)
        set_point(opened, end_of(opened));
    return true;
}

/* What it was created with is not known, and it may be changed before it is opened by
 * its name. */
void vel_live_begin_unseen(struct vel_opened *opened)
{
    opened->handles++;
    vel_plain_end();
}

void vel_live_give_up(const void *handle, const char *why)
{
    struct vel_opened *opened = vel_opened_find_handle(handle);

    if (opened && opened->journal)
        vel_journal_give_up(opened->journal, why);
}

void vel_live_flush_begin(void)
{
    struct vel_opened *opened;

    is_flush = true;
    for (size_t i = 0; (opened = vel_opened_at(i)); i++)
        opened->is_flushed = false;
}

void vel_live_flush_end(bool is_done)
{
    struct vel_opened *opened;

    is_flush = false;
    for (size_t i = 0; is_done && (opened = vel_opened_at(i)); i++)
        if (opened->is_flushed && opened->journal)
            set_point(opened, end_of(opened));
}

/* --- what the driver does --- */

herr_t vel_live_write(struct vel_opened *opened, const struct vel_write *w)
{
    herr_t rc = 0;

    for (size_t done = 0, n; rc >= 0 && done < w->size; done += n) {
        n = w->size - done < PIECE ? w->size - done : PIECE;
        const struct vel_change change = {.at = w->at + done,
                                          .len = n,
                                          .bytes = (const char *)w->buf + done,
                                          .is_free = w->type == H5FD_MEM_DRAW &&
                                                     vel_plain_is()};

        vel_journal_before(opened->journal, &change);
        rc = opened->class->write(w->file, w->type, w->dxpl_id, change.at, n,
                                  change.bytes);
        vel_journal_after(opened->journal, &change, rc >= 0);
    }
    return rc;
}

/* It makes no system call when the file is as long as it should be. */
herr_t vel_live_truncate(struct vel_opened *opened, hid_t dxpl_id, hbool_t closing)
{
    const H5FD_class_t *class = opened->class;
    const struct vel_change change = {
        .at = class->get_eoa(opened->file, H5FD_MEM_DEFAULT)};
    bool is_change = change.at != class->get_eof(opened->file, H5FD_MEM_DEFAULT);
    herr_t rc;

    if (is_change)
        vel_journal_before(opened->journal, &change);
    rc = class->truncate(opened->file, dxpl_id, closing);
    if (is_change)
        vel_journal_after(opened->journal, &change, rc >= 0);
    return rc;
}

void vel_live_flushed(struct vel_opened *opened)
{
    opened->is_flushed = is_flush;
}

/* Space below the point is given back. */
void vel_live_ends_at(const struct vel_opened *opened, haddr_t at)
{
    if (opened->handles > 0 && at < opened->point)
        vel_plain_end();
}

herr_t vel_live_close(const struct vel_opened *opened)
{
    struct vel_journal *journal = opened->journal;
    herr_t rc;

    vel_journal_end(journal);
    rc = opened->class->close(opened->file);
    vel_journal_destroy(journal);
    n_journals--;
    return rc;
}
