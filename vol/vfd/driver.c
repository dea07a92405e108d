/* SPDX-License-Identifier: BSD-3-Clause */
/* Every call goes to the driver below at once, by its own class: nothing is added to
 * reading and writing but one step through a pointer. */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "object.h"
#include "push.h"
#include "vfd/driver.h"
#include "vfd/layered.h"
#include "vfd/ticket.h"

/* 256 to 511 are the values of drivers that are not registered with The HDF Group. */
#define DRIVER_VALUE 455

/* As of the drivers below. */
#define MAX_ADDR (((haddr_t)1 << (8 * sizeof(off_t) - 1)) - 1)

/* What a property list holds. */
struct info {
    struct vel_ticket *ticket;
};

static H5FD_t *below(const H5FD_t *file)
{
    return ((const struct vel_layered *)file)->below;
}

static herr_t written(H5FD_t *pub, herr_t rc)
{
    struct vel_layered *file = (struct vel_layered *)pub;

    if (rc < 0)
        file->was = VEL_FILE_BROKEN;
    else if (file->was == VEL_FILE_READ)
        file->was = VEL_FILE_WRITTEN;
    return rc;
}

/* What HDF5 does to every file that may be written, if nothing was. */
static herr_t kept(H5FD_t *pub, herr_t rc)
{
    return rc < 0 ? written(pub, rc) : rc;
}

/* --- property lists --- */

static void *copy_info(const void *data)
{
    const struct info *info = data;
    struct info *copy = malloc(sizeof *copy);

    if (copy)
        copy->ticket = vel_ticket_share(info->ticket);
    return copy;
}

static herr_t free_info(void *data)
{
    struct info *info = data;

    vel_ticket_release(info->ticket);
    free(info);
    return 0;
}

static void *get_info(H5FD_t *file)
{
    const struct info info = {.ticket = ((struct vel_layered *)file)->ticket};

    return copy_info(&info);
}

/* --- open and close --- */

/* What HDF5 says of a file that is not there, or is: programs look for the errno. */
static H5FD_t *refuse(const char *name, enum vel_file_at at, const char *why,
                      unsigned flags)
{
    bool is_there = at == VEL_FILE_TAKEN;

    vel_push(
        H5E_CANTOPENFILE,
        "unable to open file: name = '%s', errno = %d, error message = '%s', flags "
        "= %x%s%s",
        name, is_there ? EEXIST : ENOENT,
        is_there ? "File exists" : "No such file or directory", flags,
        why && *why ? ": " : "", why ? why : "");
    return NULL;
}

/* HDF5 looks at the file before it makes a new one of it, sees that it has it open, and
 * refuses. If it does not, because another driver has opened it, we do. */
static H5FD_t *open_held(const struct vel_ticket *ticket, const char *path,
                         unsigned flags)
{
    if (!(flags & (H5F_ACC_TRUNC | H5F_ACC_CREAT | H5F_ACC_EXCL)))
        return H5FDopen(path, flags & ~H5F_ACC_RDWR, ticket->fapl_id, HADDR_UNDEF);
    vel_push(H5E_CANTOPENFILE,
             "%s is open to be read, by another driver: close it first", path);
    return NULL;
}

static H5FD_t *open_at(const struct vel_ticket *ticket, const char *name,
                       enum vel_file_at at, const char *path, const char *why,
                       unsigned flags)
{
    switch (at) {
    case VEL_FILE_OWN:
        return H5FDopen(name, flags, ticket->fapl_id, HADDR_UNDEF);
    case VEL_FILE_CACHED:
        return H5FDopen(path, flags, ticket->fapl_id, HADDR_UNDEF);
    case VEL_FILE_HELD:
        return open_held(ticket, path, flags);
    default:
        return refuse(name, at, why, flags);
    }
}

static void begin_reading(struct vel_layered *f, const char *name, const char *path,
                          unsigned flags)
{
    if (f->below && !f->file && !(flags & H5F_ACC_RDWR))
        f->reading = vel_reading_begin(name, f->is_own ? NULL : path);
}

/* Files that HDF5 opens by itself with the list of another one, as those that external
 * links and virtual datasets lead to, are looked for like any. */
static void open_other(struct vel_layered *f, const struct vel_ticket *ticket,
                       const char *name, unsigned flags)
{
    const struct vel_files_of of = {0};
    struct vel_file_answer answer;
    struct vel_err err = {0};

    if (vel_files_open(&of, name, flags & H5F_ACC_RDWR, &answer, &err) < 0) {
        vel_push(H5E_CANTOPENFILE, "%s", err.text);
        return;
    }
    f->below = open_at(ticket, name, answer.at, answer.path, answer.why, flags);
    f->file = answer.file;
    f->is_own = answer.at == VEL_FILE_OWN;
    if (f->below && answer.file)
        vel_file_opened(answer.file);
    if (answer.file)
        vel_file_settle(answer.file, f->below);
    begin_reading(f, name, answer.path, flags);
    vel_file_answer_fini(&answer);
}

static void open_it_below(struct vel_layered *f, struct vel_ticket *ticket,
                          const char *name, unsigned flags)
{
    f->below = open_at(ticket, name, ticket->at, ticket->path, ticket->why, flags);
    ticket->is_refused = !f->below;
    f->file = ticket->file;
    f->is_own = ticket->at == VEL_FILE_OWN;
    if (f->below && f->file)
        vel_file_opened(f->file);
    begin_reading(f, name, ticket->path, flags);
}

static H5FD_t *open_it(const char *name, unsigned flags, hid_t fapl_id, haddr_t maxaddr)
{
    const struct info *info = H5Pget_driver_info(fapl_id);
    struct vel_layered *file;

    (void)maxaddr;
    if (!info) {
        vel_push(H5E_BADVALUE, "the driver veloc is put over others by its connector");
        return NULL;
    }
    file = calloc(1, sizeof *file);
    if (!file) {
        vel_push(H5E_NOSPACE, "there is no memory for a file");
        return NULL;
    }
    if (strcmp(name, info->ticket->name) == 0)
        open_it_below(file, info->ticket, name, flags);
    else
        open_other(file, info->ticket, name, flags);
    if (!file->below) {
        free(file);
        return NULL;
    }
    file->ticket = vel_ticket_share(info->ticket);
    return &file->pub;
}

/* HDF5 also closes a file of which it has just said why it cannot be opened. */
static herr_t close_it(H5FD_t *pub)
{
    struct vel_layered *file = (struct vel_layered *)pub;
    hid_t stack = vel_stack_save();
    struct vel_err err = {0};

    vel_layered_rescue(file);
    herr_t rc = H5FDclose(file->below);

    vel_reading_end(file->reading);
    if (file->is_marked)
        written(pub, 0);
    if (file->file &&
        vel_file_closed(file->file, rc < 0 ? VEL_FILE_BROKEN : file->was, &err) < 0)
        rc = vel_push(H5E_CANTCLOSEFILE, "%s", err.text);
    vel_ticket_release(file->ticket);
    free(file);
    vel_stack_add_to(stack);
    return rc;
}

/* --- the rest is done below --- */

/* HDF5 looks at the path itself when it is told that the file is a plain one: but in a
 * cache it has another one. */
static herr_t query(const H5FD_t *file, unsigned long *flags)
{
    herr_t rc = 0;

    if (!file) {
        *flags = H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
        return 0;
    }
    *flags = 0;
    if (below(file)->cls->query)
        rc = below(file)->cls->query(below(file), flags);
    if (!((const struct vel_layered *)file)->is_own)
        *flags &= ~(unsigned long)H5FD_FEAT_POSIX_COMPAT_HANDLE;
    return rc;
}

static int compare(const H5FD_t *a, const H5FD_t *b)
{
    const H5FD_class_t *class = below(a)->cls;

    if (class != below(b)->cls)
        return class < below(b)->cls ? -1 : 1;
    return class->cmp(below(a), below(b));
}

static haddr_t get_eoa(const H5FD_t *file, H5FD_mem_t type)
{
    return below(file)->cls->get_eoa(below(file), type);
}

static herr_t set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t at)
{
    return below(file)->cls->set_eoa(below(file), type, at);
}

static haddr_t get_eof(const H5FD_t *file, H5FD_mem_t type)
{
    return below(file)->cls->get_eof(below(file), type);
}

static herr_t get_handle(H5FD_t *file, hid_t fapl_id, void **ret)
{
    return below(file)->cls->get_handle(below(file), fapl_id, ret);
}

static herr_t read_it(H5FD_t *file, H5FD_mem_t type, hid_t dxpl_id, haddr_t at,
                      size_t size, void *buf)
{
    return below(file)->cls->read(below(file), type, dxpl_id, at, size, buf);
}

/* HDF5 marks every file that it may write as open, in its head, and takes that off when
 * it closes it: a file in which nothing else was written is no new one. */
static bool is_mark(struct vel_layered *file, H5FD_mem_t type, hid_t dxpl_id,
                    haddr_t at, size_t size, const void *buf)
{
    const H5FD_class_t *class = file->below->cls;

    if (!file->file || file->was != VEL_FILE_READ || at != 0 || size > VEL_LAYERED_HEAD)
        return false;
    if (file->head_size == 0 && size <= class->get_eof(file->below, type) &&
        class->read(file->below, type, dxpl_id, at, size, file->head) >= 0)
        file->head_size = size;
    file->is_marked = size != file->head_size || memcmp(file->head, buf, size) != 0;
    return size == file->head_size;
}

static void changes(H5FD_t *pub)
{
    struct vel_layered *file = (struct vel_layered *)pub;

    if (file->file && !file->is_own)
        vel_file_changes(file->file);
}

static herr_t write_it(H5FD_t *file, H5FD_mem_t type, hid_t dxpl_id, haddr_t at,
                       size_t size, const void *buf)
{
    bool is_only_mark =
        is_mark((struct vel_layered *)file, type, dxpl_id, at, size, buf);
    herr_t rc;

    if (!is_only_mark)
        changes(file);
    rc = below(file)->cls->write(below(file), type, dxpl_id, at, size, buf);
    if (rc < 0 && vel_layered_move_home((struct vel_layered *)file))
        rc = below(file)->cls->write(below(file), type, dxpl_id, at, size, buf);
    return is_only_mark ? kept(file, rc) : written(file, rc);
}

static herr_t flush(H5FD_t *file, hid_t dxpl_id, hbool_t closing)
{
    const H5FD_class_t *class = below(file)->cls;

    return class->flush ? kept(file, class->flush(below(file), dxpl_id, closing)) : 0;
}

static herr_t truncate_it(H5FD_t *file, hid_t dxpl_id, hbool_t closing)
{
    const H5FD_class_t *class = below(file)->cls;

    if (class->truncate &&
        get_eoa(file, H5FD_MEM_DEFAULT) != get_eof(file, H5FD_MEM_DEFAULT))
        changes(file);
    return class->truncate ? kept(file, class->truncate(below(file), dxpl_id, closing))
                           : 0;
}

static herr_t lock(H5FD_t *file, hbool_t writes)
{
    const H5FD_class_t *class = below(file)->cls;

    return class->lock ? class->lock(below(file), writes) : 0;
}

static herr_t unlock(H5FD_t *file)
{
    const H5FD_class_t *class = below(file)->cls;

    return class->unlock ? class->unlock(below(file)) : 0;
}

static const H5FD_class_t driver_class = {
    .version = H5FD_CLASS_VERSION,
    .value = DRIVER_VALUE,
    .name = "veloc",
    .maxaddr = MAX_ADDR,
    .fc_degree = H5F_CLOSE_WEAK,
    .fapl_size = sizeof(struct info),
    .fapl_get = get_info,
    .fapl_copy = copy_info,
    .fapl_free = free_info,
    .open = open_it,
    .close = close_it,
    .cmp = compare,
    .query = query,
    .get_eoa = get_eoa,
    .set_eoa = set_eoa,
    .get_eof = get_eof,
    .get_handle = get_handle,
    .read = read_it,
    .write = write_it,
    .flush = flush,
    .truncate = truncate_it,
    .lock = lock,
    .unlock = unlock,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* --- put on and taken off --- */

/* HDF5 forgets it when it is closed, and may be opened again. */
static hid_t driver_id(void)
{
    static hid_t id = H5I_INVALID_HID;

    if (id < 0 || H5Iget_type(id) != H5I_VFL)
        id = H5FDregister(&driver_class);
    return id;
}

/* A file in memory that is not written down, or comes from memory, is none. */
static bool is_core_file(hid_t fapl_id)
{
    size_t increment, size = 0;
    hbool_t is_stored = 0;
    void *image = NULL;

    return H5Pget_fapl_core(fapl_id, &increment, &is_stored) >= 0 && is_stored &&
           H5Pget_file_image(fapl_id, &image, &size) >= 0 && size == 0;
}

int vel_driver_fits(hid_t fapl_id)
{
    hid_t id = H5Pget_driver(fapl_id);

    return id == H5FD_SEC2 || id == H5FD_STDIO ||
           (id == H5FD_CORE && is_core_file(fapl_id));
}

int vel_driver_put(hid_t fapl_id, const char *name,
                   const struct vel_file_answer *answer)
{
    struct info info = {.ticket = vel_ticket_create(fapl_id, name, answer)};
    herr_t rc;

    if (!info.ticket)
        return vel_push(H5E_NOSPACE, "there is no memory for a file");
    rc = H5Pset_driver(fapl_id, driver_id(), &info);
    vel_ticket_release(info.ticket);
    return rc;
}

bool vel_driver_was_refused(hid_t fapl_id)
{
    const struct info *info =
        H5Pget_driver(fapl_id) == driver_id() ? H5Pget_driver_info(fapl_id) : NULL;

    return info && info->ticket->is_refused;
}

int vel_driver_take_off(hid_t fapl_id)
{
    const struct info *info;
    hid_t user;

    if (H5Pget_driver(fapl_id) != driver_id())
        return 0;
    info = H5Pget_driver_info(fapl_id);
    if (!info)
        return 0;
    user = info->ticket->fapl_id;
    return H5Pset_driver(fapl_id, H5Pget_driver(user), H5Pget_driver_info(user));
}
