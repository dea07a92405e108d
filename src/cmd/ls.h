/* SPDX-License-Identifier: BSD-3-Clause */
/* ls - what the files of h5veloc-ls share: ls (options, rounds), ls_find (where to
 * look), ls_read (what lies there), ls_ask (what leaders of other nodes tell), ls_files
 * (files, and their bytes), ls_there (are they there?), ls_away (those of other nodes),
 * ls_opened (files of no dataset yet), ls_rows (datasets and their states), ls_judge
 * (what can be restored, as a view decides it), ls_text and ls_json (what is printed),
 * ls_h5 (what is in a file).
 *
 * Nothing is written, locked or made anywhere. Memory that is not there ends the tool.
 */
#ifndef VEL_CMD_LS_H
#define VEL_CMD_LS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "conf/conf.h"
#include "record/json.h"
#include "sys/host.h"
#include "view/batch.h"
#include "view/evidence.h"
#include "view/view.h"

enum vel_ls_colour { VEL_LS_COLOUR_AUTO, VEL_LS_COLOUR_ALWAYS, VEL_LS_COLOUR_NEVER };

struct vel_ls_options {
    char **paths;
    size_t n_paths;
    int64_t id; /* only this dataset; 0: all */
    bool details, files, verify, json, h5, quiet;
    enum vel_ls_colour colour;
    double watch; /* seconds between rounds; 0: one round */
};

/* Who lists. */
struct vel_ls {
    const struct vel_ls_options *options;
    struct vel_fs *fs;
    const struct vel_conf *conf;
    const struct vel_host *host;
    int64_t now; /* seconds since 1970 */
    struct vel_vec units;
    struct vel_vec
        replaced;         /* char *: what was in live files before they were mended */
    struct vel_vec notes; /* char *: what the library warned of in this round */
    bool has_failed;      /* something that was asked for was not there, or is bad */
};

/* "CACHE/USER/ID", and whose it is. */
struct vel_ls_home {
    char *path, *node;
};

/* A node that could not be asked. */
struct vel_ls_silent {
    char *node, *why;
};

/* A node whose leader has told, and of which launch that is. */
struct vel_ls_teller {
    char *node, *launch;
};

struct vel_ls_unreadable {
    int64_t id;
    char *why;
};

/* Files whose dataset has no id yet: a batch. */
struct vel_ls_opened {
    int64_t index;          /* below 0: not told */
    struct vel_batch batch; /* without a directory: on another node */
    char *node;
    int64_t files, bytes;
    char *launch, *name;   /* NULL: nobody tells */
    int64_t step;          /* below 0: that is no number */
    int64_t sealed;        /* the dataset that they are sealed as; 0: none */
    int64_t open;          /* so many were not closed; */
    int64_t flushed;       /* and of these, left as H5Fflush has left them */
    struct vel_vec closed; /* int64_t: ranks whose files all are */
};

enum vel_ls_health {
    VEL_LS_THERE,   /* with its size; its bytes were not read */
    VEL_LS_RIGHT,   /* and they are those that were recorded */
    VEL_LS_MISSING, /* not there */
    VEL_LS_SHORT,   /* of another size */
    VEL_LS_CORRUPT, /* of another checksum */
    VEL_LS_UNREAD,  /* could not be read */
    VEL_LS_AWAY,    /* on a node whose files cannot be looked at from here */
    VEL_LS_LOST,    /* with its part, which redundancy gives or not */
    VEL_LS_OPEN,    /* it is being written */
};

struct vel_ls_file {
    int64_t id;
    const struct vel_ls_opened *opened; /* id 0: of this */
    int rank;
    int64_t index;    /* of the level; below 0: on the prefix */
    char *name;       /* cached name */
    char *path;       /* where its bytes are; NULL: nowhere here */
    const char *node; /* that has it; NULL: the prefix */
    uint64_t at, size;
    bool has_crc, is_redundancy, is_contained; /* of others: with `at` there */
    uint32_t crc;
    enum vel_ls_health health;
    char *why; /* NULL: nothing is wrong */
};

struct vel_ls_set {
    uint32_t members, whole, failures;
};

enum vel_ls_state {
    VEL_LS_ANNOUNCED,
    VEL_LS_COMPLETE,
    VEL_LS_ENCODING,
    VEL_LS_FLUSHING,
    VEL_LS_FLUSHED,
    VEL_LS_REMOVING,
    VEL_LS_FAILED,
    VEL_LS_LOSS,
    VEL_LS_REPLACED,
    VEL_LS_DROPPED,
    VEL_LS_BAD_RECORD,
};

enum vel_ls_restart {
    VEL_LS_FROM_CACHE,
    VEL_LS_FROM_REBUILT,
    VEL_LS_FROM_PREFIX,
    VEL_LS_NO,
    VEL_LS_UNKNOWN,
};

/* A dataset, as it is told. Texts but `why` and `error` belong to the unit. */
struct vel_ls_row {
    int64_t id;
    const struct vel_dataset *about; /* NULL: nobody tells */
    const struct vel_entry *entry;   /* NULL: none */
    const char *launch;              /* that made it; NULL: none said so */
    enum vel_ls_state state;
    enum vel_ls_restart restart;
    char *why;   /* it cannot be restarted from, or from where; NULL: nothing to say */
    char *error; /* why something failed; NULL: nothing has */
    bool is_current, is_aside, owes_encode, owes_flush;
    bool is_damaged;    /* on the prefix */
    bool is_taken;      /* HDF5 files, some of which were removed or replaced there */
    bool is_unreadable; /* its record there */
    bool is_guess;      /* some nodes that may hold parts were not asked */
    int64_t index;      /* of the level; below 0: not in a cache */
    enum vel_scheme scheme;
    struct vel_vec sets;                /* struct vel_ls_set */
    const struct vel_ls_opened *opened; /* id 0: then this is all there is */
};

/* Datasets that have their ids from one place: a prefix, or a part of a job in it. */
struct vel_ls_unit {
    char *prefix;              /* NULL: only caches are known */
    char *dir;                 /* PREFIX/.veloc, or a directory in it; NULL */
    struct vel_index *index;   /* of that */
    char *label;               /* "", "part.3", "single.7" */
    char *id;                  /* the uuid; "" not told */
    bool is_given;             /* its caches were named: there are no others */
    struct vel_vec homes;      /* struct vel_ls_home */
    struct vel_vec nodes;      /* struct vel_inventory */
    struct vel_vec silent;     /* struct vel_ls_silent */
    struct vel_vec tellers;    /* struct vel_ls_teller */
    struct vel_vec owing;      /* struct vel_promise */
    struct vel_vec unreadable; /* struct vel_ls_unreadable */
    struct vel_vec strange;    /* char *: what is not ours */
    struct vel_vec opened;     /* struct vel_ls_opened */
    struct vel_vec files;      /* struct vel_ls_file */
    struct vel_vec settled;    /* struct vel_view_maker: whose seals do not matter */
    struct vel_vec damaged;    /* int64_t: whose files on the prefix are not right */
    struct vel_evidence evidence;
    int64_t current;
    struct vel_view view;
    struct vel_vec rows; /* struct vel_ls_row, newest first */
};

/* --- memory --- */

/* `item`, or the end. */
void *vel_ls_need(void *item);
char *vel_ls_copy(const char *text);
char *vel_ls_join(const char *dir, const char *name);
void *vel_ls_push(struct vel_vec *vec, const void *item);
void vel_ls_unit_fini(struct vel_ls_unit *unit);

/* --- the work, in this order --- */

/* Where to look, as PATHs and settings say: ls->units. */
void vel_ls_find(struct vel_ls *ls);

/* Where else a launch has had caches, as it has told on the prefix: directories that
 * these settings do not name, so that nobody has looked there. */
void vel_ls_elsewhere(const struct vel_ls *ls, const struct vel_ls_unit *unit,
                      const char *launch, struct vel_buf *ret);

/* What lies there, and what the prefix says. */
void vel_ls_read(struct vel_ls *ls, struct vel_ls_unit *unit);

/* What other nodes of living launches hold. */
void vel_ls_ask(struct vel_ls *ls, struct vel_ls_unit *unit);

/* The files; with --verify their bytes are read. What is damaged does not count any
 * more when the unit is judged. */
void vel_ls_files(struct vel_ls *ls, struct vel_ls_unit *unit);

/* Or only whether those on the prefix are there, as far as they are not too many. */
void vel_ls_there(const struct vel_ls *ls, struct vel_ls_unit *unit);

/* What its files share: bytes were read; something is wrong with a file; an encoding
 * (NULL: any) of a part counts no more; a file of a dataset. */
void vel_ls_progress(uint64_t bytes);
void vel_ls_blame(struct vel_ls_file *file, enum vel_ls_health health, const char *why);
void vel_ls_damaged(struct vel_stock *stock, const uint8_t *id);
struct vel_ls_file *vel_ls_add_file(struct vel_ls_unit *unit, int64_t id, int rank,
                                    const char *name);

/* The same for those that only leaders of other nodes have told of. */
void vel_ls_away(struct vel_ls *ls, struct vel_ls_unit *unit);

/* The same for files that are of no dataset yet. */
void vel_ls_opened_files(struct vel_ls *ls, struct vel_ls_unit *unit);
/* Such are in a cache; unit->evidence is there. */
void vel_ls_add_opened(struct vel_ls *ls, struct vel_ls_unit *unit, const char *home,
                       const char *node);
/* Such are on another node, as its leader tells. */
void vel_ls_told_opened(struct vel_ls *ls, struct vel_ls_unit *unit,
                        const struct vel_inventory *told);
void vel_ls_opened_fini(struct vel_ls_opened *opened);
/* Has nobody come to take what is sealed as a dataset? 1: the next launch will; 0: it
 * is not like that, or not all of it is here. */
bool vel_ls_is_left(const struct vel_ls_unit *unit, int64_t id);

/* unit->view and unit->rows; and one of them: its sets, restart and why. */
void vel_ls_rows(struct vel_ls *ls, struct vel_ls_unit *unit);
void vel_ls_judge(const struct vel_ls *ls, const struct vel_ls_unit *unit,
                  struct vel_ls_row *row);
/* Is some of it on the prefix, and not all? Of what leaders flush nothing is before it
 * is staged. */
bool vel_ls_is_on_its_way(const struct vel_entry *entry);

/* NULL: nobody has sealed it, or a launch that is not over. */
const struct vel_seal *vel_ls_seal_of(const struct vel_ls_unit *unit, int64_t id);

/* Why a dataset does not count any more on the prefix. */
#define VEL_LS_BAD_ON_PREFIX "its files on the prefix are not those that were written"

/* --- what is printed --- */

extern const char *const vel_ls_states[], *const vel_ls_restarts[],
                                              *const vel_ls_healths[];

static inline const struct vel_ls_row *vel_ls_row_at(const struct vel_ls_unit *unit,
                                                     size_t i)
{
    return (const struct vel_ls_row *)unit->rows.items + i;
}
static inline const struct vel_ls_file *vel_ls_file_at(const struct vel_ls_unit *unit,
                                                       size_t i)
{
    return (const struct vel_ls_file *)unit->files.items + i;
}
static inline struct vel_ls_unit *vel_ls_unit_at(const struct vel_ls *ls, size_t i)
{
    return (struct vel_ls_unit *)ls->units.items + i;
}
/* Is it to be shown? */
static inline bool vel_ls_wants(const struct vel_ls *ls, int64_t id)
{
    return ls->options->id == 0 || ls->options->id == id;
}

/* Appended to *ret. */
void vel_ls_text(const struct vel_ls *ls, bool is_coloured, struct vel_buf *ret);
json_t *vel_ls_json(const struct vel_ls *ls);

/* Run h5ls on the files that PATHs name. The exit code. */
int vel_ls_h5(struct vel_ls *ls);

#endif
