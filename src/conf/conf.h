/* SPDX-License-Identifier: BSD-3-Clause */
/* conf - the settings of a process: typed fields that code reads, each knowing where it
 * came from.
 *
 * Layers, each of which overrides those before it: default, system file, program, user
 * file, environment. The rows are those of schema.def; a caller reads conf->set_size,
 * never a string.
 */
#ifndef VEL_CONF_CONF_H
#define VEL_CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "conf/schema.h"

enum vel_layer {
    VEL_LAYER_DEFAULT,
    VEL_LAYER_SYSTEM,
    VEL_LAYER_PROGRAM,
    VEL_LAYER_USER,
    VEL_LAYER_ENVIRONMENT,
};

/* Where a value was given. */
struct vel_source {
    enum vel_layer layer;
    const char *where; /* file, or variable of the environment; owned by the settings */
    int line;          /* 0: none; a file means it without saying so */
};

/* indices of CHOICE fields, in the order of their rows */
enum vel_mode { VEL_MODE_SYNC, VEL_MODE_ASYNC, VEL_MODE_AGENT };
enum vel_copy_type {
    VEL_COPY_FILE,
    VEL_COPY_SINGLE,
    VEL_COPY_PARTNER,
    VEL_COPY_XOR,
    VEL_COPY_RS
};
enum vel_flush_type {
    VEL_FLUSH_POSIX,
    VEL_FLUSH_SYNC,
    VEL_FLUSH_PTHREAD,
    VEL_FLUSH_BBAPI,
    VEL_FLUSH_CPPR,
    VEL_FLUSH_DATAWARP,
};
enum vel_flush_delta { VEL_DELTA_OFF, VEL_DELTA_CLONE, VEL_DELTA_PATCH };
enum vel_restart { VEL_RESTART_ANY, VEL_RESTART_REQUIRE };
enum vel_optimal { VEL_OPTIMAL_OFF, VEL_OPTIMAL_YOUNG, VEL_OPTIMAL_DALY };
enum vel_ckpt_type { VEL_CKPT_SINGLE, VEL_CKPT_PARTNER, VEL_CKPT_XOR, VEL_CKPT_RS };
enum vel_store_type {
    VEL_STORE_RAMDISK,
    VEL_STORE_XPOINT,
    VEL_STORE_SSD,
    VEL_STORE_BURSTBUFFER,
    VEL_STORE_PFS,
};
enum vel_kind { VEL_KIND_CHECKPOINT, VEL_KIND_OUTPUT, VEL_KIND_BOTH, VEL_KIND_NONE };
enum vel_publish { VEL_PUBLISH_THROUGH, VEL_PUBLISH_BEHIND, VEL_PUBLISH_LIVE };
enum vel_unlisted { VEL_UNLISTED_FAMILIES, VEL_UNLISTED_BEHIND, VEL_UNLISTED_LIVE };

#define VEL_FIELD_BOOL bool
#define VEL_FIELD_INT int64_t
#define VEL_FIELD_SIZE int64_t
#define VEL_FIELD_SECONDS double
#define VEL_FIELD_REAL double
#define VEL_FIELD_TEXT char *
#define VEL_FIELD_PATH char *
#define VEL_FIELD_CHOICE int
#define VEL_FIELD_INTERVAL int64_t

/* What the lines of a kind say. After vel_conf_finish() what a line left open has the
 * value of the setting that stands in for it. */
struct vel_ckpt {
    int64_t id;
    int64_t interval; /* a count; below 0: minus the seconds */
    char *group;
    char *store;
    int type; /* enum vel_ckpt_type */
    int64_t set_size;
    int64_t set_failures; /* 0: half of the set */
    int64_t replicas;
    int64_t hop_distance;
    bool enabled;
    bool output;
    bool bypass;
};

struct vel_store_line {
    char *group;
    int64_t count;
    int type;          /* enum vel_store_type */
    int flush;         /* enum vel_flush_type */
    int64_t bytes;     /* 0: what is free */
    int64_t bandwidth; /* 0: not told */
    double mtbf;       /* 0: not told */
    bool enabled;
    bool mkdir;
};

struct vel_dataset_rule {
    char *pattern;
    char *exclude;
    int kind;    /* enum vel_kind */
    int publish; /* enum vel_publish, -1: as the files are used */
    int64_t keep;
    int64_t points;
    int64_t level; /* -1: by interval */
};

struct vel_dir_line {
    int64_t bytes;
};

struct vel_group_pair {
    char *name;
    char *value;
};

/* Of a host; or, with mtbf, of all groups of the line's name. */
struct vel_groups_line {
    double mtbf;          /* 0: a host's line */
    struct vel_vec pairs; /* of struct vel_group_pair */
};

/* A line with keys of its own. */
struct vel_line {
    enum vel_parent parent;
    char *name; /* the value of its first key */
    struct vel_source source;
    uint32_t given; /* bit i: child i stands on the line */
    void *data;     /* struct vel_ckpt, vel_store_line, ... */
};

/* A key that was accepted and means nothing here. */
struct vel_unused {
    char *key;
    char *value;
    const char *why;
    struct vel_source source;
    bool is_replaced; /* a line: one of the same name, of a higher layer, counts */
};

/* Free what a line holds. */
void vel_conf_line_fini(struct vel_line *line);

struct vel_conf {
#define SETTING(KEY, field, whom, TYPE, def, least, most, choices, doc)                \
    VEL_FIELD_##TYPE field;
#include "conf/schema.def"
    struct vel_source *sources; /* one per setting */
    char **texts;               /* and its value as text; "" when not set */
    struct vel_vec lines;       /* of struct vel_line, in the order given */
    struct vel_vec unused;      /* of struct vel_unused */
    struct vel_map *names;      /* texts that sources, and `why`, point to */
};

/* All defaults. */
int vel_conf_create(struct vel_conf **ret_conf, struct vel_err *err);
void vel_conf_destroy(struct vel_conf *conf);

/* Give setting i a value. A layer below that of the value there changes nothing; a
 * second value in the same file is an error. */
int vel_conf_set(struct vel_conf *conf, size_t i, const char *text,
                 const struct vel_source *source, struct vel_err *err);

/* The program gives a setting by name, such as "FLUSH" or "VELOC_FLUSH". */
int vel_conf_set_by_program(struct vel_conf *conf, const char *key, const char *text,
                            struct vel_err *err);

/* A name that lives as long as conf; NULL when out of memory. */
const char *vel_conf_name(struct vel_conf *conf, const char *name);

/* Note a key, or a line, that means nothing here. */
int vel_conf_keep_unused(struct vel_conf *conf, const char *key, const char *value,
                         struct vel_unused unused, struct vel_err *err);

/* Note what is ignored, where it stands. */
int vel_conf_keep_ignored(struct vel_conf *conf, const char *key, const char *value,
                          const struct vel_ignored *ignored,
                          const struct vel_source *source, struct vel_err *err);

/* Line i of that kind, in the order given; NULL behind the last. */
const struct vel_line *vel_conf_line(const struct vel_conf *conf,
                                     enum vel_parent parent, size_t i);

/* The GROUPS line of the i-th host; NULL behind the last. */
const struct vel_line *vel_conf_host(const struct vel_conf *conf, size_t i);

/* The i-th directory for caches that the settings name, in CACHE_BASE or a line, some
 * more than once; NULL behind the last. */
const char *vel_conf_store(const struct vel_conf *conf, size_t i);

/* "A, B": those that `but` (NULL: nothing) does not name, each once, appended. */
void vel_conf_list_stores(const struct vel_conf *conf, const struct vel_conf *but,
                          struct vel_buf *ret);

/* Does the line itself give this key, one of its kind? */
bool vel_conf_gives(const struct vel_line *line, const char *key);

/* What is given by the user, or by the program, and obeyed by others than `who` alone:
 * "FETCH, STORE COUNT", each once, appended. */
void vel_conf_list_unheeded(const struct vel_conf *conf, enum vel_whom who,
                            struct vel_buf *ret);

/* Log which DATASET lines others of the same name have replaced, and that a CKPT line
 * names a store without a line whose name is nearly that of another. Whoever opens the
 * log calls it: vel_conf_load() is too early, for the settings say where messages go.
 */
void vel_conf_tell_lines(const struct vel_conf *conf);

/* Are the CKPT lines used (COPY_TYPE=FILE, or it was left open and there are some)? */
bool vel_conf_has_levels(const struct vel_conf *conf);

/* Does somebody ask for a scheme, by COPY_TYPE or CKPT lines? */
bool vel_conf_asks_for_scheme(const struct vel_conf *conf);

/* Fill what lines left open, then check what no single value shows: a level for every
 * checkpoint, schemes that fit their stores, groups and stores that exist. One sentence
 * for the first fault. */
int vel_conf_finish(struct vel_conf *conf, struct vel_err *err);

/* VEL_ECONFIG, with the place where a setting was given before the sentence. */
int vel_conf_fault_of(const struct vel_conf *conf, const char *key,
                      struct vel_err *err);

/* Is there a group of that name, which `line` (of these or other settings) has?
 * VEL_ECONFIG. Where no host is listed any may be there. */
int vel_conf_check_group(const struct vel_conf *conf, const struct vel_line *line,
                         const char *name, struct vel_err *err);

/* Are all groups defined that levels and stores name, and has each GROUPS line those of
 * the others? A job asks so of its own hosts (topo/group_lines), whose files may say
 * more than those of this machine. */
int vel_conf_check_groups(const struct vel_conf *conf, struct vel_err *err);

#endif
