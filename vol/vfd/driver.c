/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conf/load.h"
#include "head.h"
#include "object.h"
#include "plain.h"
#include "push.h"
#include "vfd/driver.h"
#include "vfd/home.h"
#include "vfd/live.h"

/* Of a list whose opens are sent elsewhere: a struct vel_placed *. */
#define PROPERTY "veloc_placed"

enum { SEC2, STDIO, CORE, DRIVERS };

static struct driver {
    H5FD_class_t *class; /* HDF5's; NULL: it is as it was */
    H5FD_class_t was;
} drivers[DRIVERS];

/* Of a file that was opened before ours were there, too. */
static const H5FD_class_t *class_of(const H5FD_t *file)
{
    size_t k = 0;

    while (k < DRIVERS - 1 && drivers[k].class != file->cls)
        k++;
    return &drivers[k].was;
}

/* --- open --- */

struct opening {
    struct driver *driver;
    const char *name;
    unsigned flags;
    hid_t fapl_id;
    haddr_t maxaddr;
};

static H5FD_t *open_path(const struct opening *o, const char *path, unsigned flags)
{
    return o->driver->was.open(path, flags, o->fapl_id, o->maxaddr);
}

static bool is_made(unsigned flags)
{
    return flags & (H5F_ACC_TRUNC | H5F_ACC_CREAT | H5F_ACC_EXCL);
}

/* What HDF5 says of a file that is not there, or is: programs look for the errno. */
static H5FD_t *refuse(const struct opening *o, const struct vel_file_answer *answer)
{
    bool is_there = answer->at == VEL_FILE_TAKEN;
    const char *why = answer->why ? answer->why : "";

    vel_push(
        H5E_CANTOPENFILE,
        "unable to open file: name = '%s', errno = %d, error message = '%s', flags "
        "= %x%s%s",
        o->name, is_there ? EEXIST : ENOENT,
        is_there ? "File exists" : "No such file or directory", o->flags,
        *why ? ": " : "", why);
    return NULL;
}

/* HDF5 looks at the file before it makes a new one of it, sees that it has it open, and
 * refuses. If it does not, because another driver has opened it, we do. */
static H5FD_t *open_held(const struct opening *o, const char *path)
{
    if (!is_made(o->flags))
        return open_path(o, path, o->flags & ~H5F_ACC_RDWR);
    vel_push(H5E_CANTOPENFILE,
             "%s is open to be read, by another driver: close it first", path);
    return NULL;
}

static H5FD_t *open_at(const struct opening *o, const struct vel_file_answer *answer)
{
    switch (answer->at) {
    case VEL_FILE_OWN:
        return open_path(o, o->name, o->flags);
    case VEL_FILE_CACHED:
        return open_path(o, answer->path, o->flags);
    case VEL_FILE_HELD:
        return open_held(o, answer->path);
    default:
        return refuse(o, answer);
    }
}

/* HDF5 opens a file more than once to look at it: nothing comes of a track or a journal
 * before the file is changed. False: there is no memory. */
static bool follow(const struct opening *o, struct vel_file_answer *answer,
                   struct vel_opened *opened)
{
    bool is_own = answer->at == VEL_FILE_OWN, writes = o->flags & H5F_ACC_RDWR;

    if (is_own && writes) {
        if (answer->has_journal && opened->is_sec2 && vel_under_is_always_native())
            vel_live_keep(opened, o->name, is_made(o->flags));
        return true;
    }
    opened->track = calloc(1, sizeof *opened->track);
    if (!opened->track)
        return false;
    vel_track_begin(opened->track, o->name, is_own ? NULL : answer->path, o->flags,
                    answer->file);
    opened->track->hold = answer->hold;
    answer->hold = NULL;
    return true;
}

/* An open file is one of ours. NULL, and closed: there is no memory. */
static H5FD_t *enter(const struct opening *o, H5FD_t *file,
                     struct vel_file_answer *answer)
{
    const struct vel_opened opened = {
        .file = file, .class = &o->driver->was, .is_sec2 = o->driver == &drivers[SEC2]};

    if (!file || (vel_opened_add(&opened) &&
                  (!answer || follow(o, answer, vel_opened_find(file)))))
        return file;
    if (vel_opened_find(file))
        vel_opened_remove(vel_opened_find(file));
    o->driver->was.close(file);
    vel_push(H5E_NOSPACE, "there is no memory for a file");
    return NULL;
}

/* Files that HDF5 opens by itself, as those that external links and virtual datasets
 * lead to, are looked for like any. */
static H5FD_t *open_other(const struct opening *o)
{
    const struct vel_files_of of = {.locks = vel_driver_locks(o->fapl_id),
                                    .descriptor = vel_opened_descriptor};
    struct vel_file_answer answer;
    struct vel_err err = {0};
    H5FD_t *file;

    if (vel_files_open(&of, o->name, o->flags & H5F_ACC_RDWR, &answer, &err) < 0 ||
        (answer.at == VEL_FILE_OWN &&
         vel_files_mend(&of, o->name, vel_head_closed, &err) < 0)) {
        vel_push(H5E_CANTOPENFILE, "%s", err.text);
        return NULL;
    }
    file = enter(o, open_at(o, &answer), &answer);
    if (file && vel_opened_find(file)->journal)
        vel_live_begin_unseen(vel_opened_find(file));
    if (answer.file)
        vel_file_settle(answer.file, file);
    vel_file_answer_fini(&answer);
    return file;
}

static struct vel_placed *placed_of(hid_t fapl_id)
{
    struct vel_placed *placed = NULL;

    if (H5Pexist(fapl_id, PROPERTY) > 0)
        H5Pget(fapl_id, PROPERTY, &placed);
    return placed;
}

static H5FD_t *open_by(size_t k, const char *name, unsigned flags, hid_t fapl_id,
                       haddr_t maxaddr)
{
    const struct opening o = {&drivers[k], name, flags, fapl_id, maxaddr};
    struct vel_placed *placed = placed_of(fapl_id);
    H5FD_t *file;

    /* links lead to files that are there; what is made is a piece of another driver's
     */
    if (!placed && vel_call_is_inside() && !is_made(flags))
        return open_other(&o);
    if (!placed) {
        vel_plain_end(); /* it may be a file of ours, of which not all is seen then */
        return enter(&o, open_path(&o, name, flags), NULL);
    }
    file = enter(&o, open_at(&o, placed->answer), placed->answer);
    placed->is_refused = !file;
    return file;
}

static H5FD_t *open_sec2(const char *name, unsigned flags, hid_t fapl_id,
                         haddr_t maxaddr)
{
    return open_by(SEC2, name, flags, fapl_id, maxaddr);
}

static H5FD_t *open_stdio(const char *name, unsigned flags, hid_t fapl_id,
                          haddr_t maxaddr)
{
    return open_by(STDIO, name, flags, fapl_id, maxaddr);
}

static H5FD_t *open_core(const char *name, unsigned flags, hid_t fapl_id,
                         haddr_t maxaddr)
{
    return open_by(CORE, name, flags, fapl_id, maxaddr);
}

/* --- the rest --- */

static bool is_over; /* the connector has gone */
static void give_back(void);

static herr_t close_it(H5FD_t *file)
{
    struct vel_opened *found = vel_opened_find(file), opened;
    herr_t rc;

    if (!found)
        return class_of(file)->close(file);
    opened = *found;
    vel_home_rescue(&opened);
    vel_opened_remove(found);
    rc = opened.journal ? vel_live_close(&opened) : opened.class->close(file);
    if (opened.track)
        rc = vel_track_end(opened.track, rc);
    free(opened.track);
    if (is_over)
        give_back();
    return rc;
}

/* HDF5 looks at the path itself when it is told that the file is a plain one: but in a
 * cache it has another one. */
static herr_t query_by(size_t k, const H5FD_t *file, unsigned long *flags)
{
    const struct vel_opened *opened = file ? vel_opened_find(file) : NULL;
    herr_t rc = drivers[k].was.query(file, flags);

    if (opened && opened->track && !opened->track->is_own)
        *flags &= ~(unsigned long)H5FD_FEAT_POSIX_COMPAT_HANDLE;
    return rc;
}

static herr_t query_sec2(const H5FD_t *file, unsigned long *flags)
{
    return query_by(SEC2, file, flags);
}

static herr_t query_stdio(const H5FD_t *file, unsigned long *flags)
{
    return query_by(STDIO, file, flags);
}

static herr_t query_core(const H5FD_t *file, unsigned long *flags)
{
    return query_by(CORE, file, flags);
}

static herr_t set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t at)
{
    const struct vel_opened *opened = vel_opened_find(file);

    if (opened && opened->journal)
        vel_live_ends_at(opened, at);
    return class_of(file)->set_eoa(file, type, at);
}

static herr_t write_tracked(struct vel_opened *opened, const struct vel_write *w)
{
    bool is_mark = vel_track_writes(opened->track, w);
    herr_t rc = w->class->write(w->file, w->type, w->dxpl_id, w->at, w->size, w->buf);

    if (rc < 0 && vel_home_goes_on(opened))
        rc = w->class->write(w->file, w->type, w->dxpl_id, w->at, w->size, w->buf);
    return vel_track_done(opened->track, is_mark, rc);
}

static herr_t write_it(H5FD_t *file, H5FD_mem_t type, hid_t dxpl_id, haddr_t at,
                       size_t size, const void *buf)
{
    struct vel_opened *opened = vel_opened_find(file);
    const struct vel_write write = {class_of(file), file, type, dxpl_id, at, size, buf};

    if (opened && opened->journal)
        return vel_live_write(opened, &write);
    return opened && opened->track
               ? write_tracked(opened, &write)
               : write.class->write(file, type, dxpl_id, at, size, buf);
}

static herr_t flush(H5FD_t *file, hid_t dxpl_id, hbool_t closing)
{
    struct vel_opened *opened = vel_opened_find(file);
    const H5FD_class_t *class = class_of(file);
    herr_t rc = class->flush ? class->flush(file, dxpl_id, closing) : 0;

    if (opened && opened->journal)
        vel_live_flushed(opened);
    return opened && opened->track ? vel_track_done(opened->track, true, rc) : rc;
}

static herr_t truncate_it(H5FD_t *file, hid_t dxpl_id, hbool_t closing)
{
    struct vel_opened *opened = vel_opened_find(file);
    const H5FD_class_t *class = class_of(file);

    if (opened && opened->journal)
        return vel_live_truncate(opened, dxpl_id, closing);
    if (!opened || !opened->track)
        return class->truncate(file, dxpl_id, closing);
    if (class->get_eoa(file, H5FD_MEM_DEFAULT) !=
        class->get_eof(file, H5FD_MEM_DEFAULT))
        vel_track_changes(opened->track);
    return vel_track_done(opened->track, true, class->truncate(file, dxpl_id, closing));
}

/* --- in HDF5's classes, and out of them --- */

/* HDF5 forgets a class when all its files are closed, and may be opened again. */
static herr_t terminate_by(size_t k)
{
    drivers[k].class = NULL;
    return drivers[k].was.terminate ? drivers[k].was.terminate() : 0;
}

static herr_t terminate_sec2(void)
{
    return terminate_by(SEC2);
}

static herr_t terminate_stdio(void)
{
    return terminate_by(STDIO);
}

static herr_t terminate_core(void)
{
    return terminate_by(CORE);
}

/* What differs between the three. */
static const struct own {
    H5FD_t *(*open)(const char *, unsigned, hid_t, haddr_t);
    herr_t (*query)(const H5FD_t *, unsigned long *);
    herr_t (*terminate)(void);
} own[DRIVERS] = {
    {open_sec2, query_sec2, terminate_sec2},
    {open_stdio, query_stdio, terminate_stdio},
    {open_core, query_core, terminate_core},
};

/* A connector goes with its last id, which may be before its last file. */
static void give_back(void)
{
    if (vel_opened_at(0))
        return;
    for (size_t k = 0; k < DRIVERS; k++) {
        struct driver *driver = &drivers[k];

        if (driver->class && driver->class->open == own[k].open)
            *driver->class = driver->was;
        driver->class = NULL;
    }
    vel_opened_forget_all();
}

/* HDF5 has copied it to the heap, and whatever it opens leads there. */
static H5FD_class_t *find_class(hid_t fapl_id)
{
    H5FD_t *file = H5FDopen("/dev/null", H5F_ACC_RDONLY, fapl_id, HADDR_UNDEF);
    H5FD_class_t *class = file ? (H5FD_class_t *)(uintptr_t)file->cls : NULL;

    if (file)
        H5FDclose(file);
    return class;
}

static void take(size_t k, H5FD_class_t *class)
{
    struct driver *driver = &drivers[k];

    driver->class = class;
    driver->was = *class;
    class->open = own[k].open;
    class->query = own[k].query;
    class->terminate = own[k].terminate;
    class->close = close_it;
    class->set_eoa = set_eoa;
    class->write = write_it;
    class->flush = flush;
    if (class->truncate)
        class->truncate = truncate_it;
}

static int begin(size_t k, hid_t fapl_id)
{
    H5FD_class_t *class = drivers[k].class ? NULL : find_class(fapl_id);

    if (class)
        take(k, class);
    return drivers[k].class ? 0
                            : vel_push(H5E_CANTOPENFILE,
                                       "the driver of a file cannot be found");
}

void vel_driver_end(void)
{
    is_over = true;
    give_back();
}

/* --- property lists --- */

/* A file in memory that is not written down, or comes from memory, is none. */
static bool is_core_file(hid_t fapl_id)
{
    size_t increment, size = 0;
    hbool_t is_stored = 0;
    void *image = NULL;

    return H5Pget_fapl_core(fapl_id, &increment, &is_stored) >= 0 && is_stored &&
           H5Pget_file_image(fapl_id, &image, &size) >= 0 && size == 0;
}

/* DRIVERS: another one. */
static size_t driver_of(hid_t fapl_id)
{
    hid_t id = H5Pget_driver(fapl_id);

    return id == H5FD_SEC2                            ? SEC2
           : id == H5FD_STDIO                         ? STDIO
           : id == H5FD_CORE && is_core_file(fapl_id) ? CORE
                                                      : DRIVERS;
}

bool vel_driver_fits(hid_t fapl_id)
{
    return driver_of(fapl_id) < DRIVERS;
}

bool vel_driver_locks(hid_t fapl_id)
{
    const char *text = vel_conf_variable(NULL, "HDF5_USE_FILE_LOCKING");
    hbool_t uses = 1, ignores;

    if (text && (strcmp(text, "TRUE") == 0 || strcmp(text, "1") == 0 ||
                 strcmp(text, "BEST_EFFORT") == 0))
        return true;
    if (text && (strcmp(text, "FALSE") == 0 || strcmp(text, "0") == 0))
        return false;
    return H5Pget_file_locking(fapl_id, &uses, &ignores) < 0 || uses;
}

/* Each open takes one of the numbers of files that HDF5's tools print, so the class is
 * looked for in a file that the program opens, if the first needs no other place; nor
 * may HDF5 have it open already, without us. */
static bool cannot_adopt;

/* sec2 has its descriptor, which is its handle, behind what all drivers have. */
void vel_driver_adopt(const struct vel_placed *placed, void *handle, unsigned flags)
{
    const struct opening o = {.driver = &drivers[SEC2], placed->name, flags};
    H5FD_t *file = handle ? (H5FD_t *)handle - 1 : NULL;
    struct vel_opened opened;
    void *its = NULL;

    cannot_adopt = !file || file->driver_id != H5FD_SEC2 ||
                   file->cls->get_handle(file, H5P_DEFAULT, &its) < 0 || its != handle;
    if (cannot_adopt)
        return;
    take(SEC2, (H5FD_class_t *)(uintptr_t)file->cls);
    opened =
        (struct vel_opened){.file = file, .class = &drivers[SEC2].was, .is_sec2 = true};
    if (vel_opened_add(&opened)) /* without memory nobody follows it */
        follow(&o, placed->answer, vel_opened_find(file));
}

int vel_driver_place(hid_t fapl_id, struct vel_placed *placed)
{
    size_t k = driver_of(fapl_id);

    is_over = false;
    placed->is_unseen = k == SEC2 && !drivers[k].class && !cannot_adopt &&
                        placed->answer->at == VEL_FILE_OWN &&
                        H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL) == 0;
    if (placed->is_unseen)
        return 0;
    if (begin(k, fapl_id) < 0)
        return -1;
    return H5Pinsert2(fapl_id, PROPERTY, sizeof placed, &placed, NULL, NULL, NULL, NULL,
                      NULL, NULL);
}
