/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/path.h"
#include "tap/rng.h"
#include "red/exec.h"
#include "red/redfile.h"
#include "sys/fs.h"
#include "tap/redlab.h"
#include "tap/tap.h"

static int forget_to_sync(struct vel_fs *fs, int fd)
{
    (void)fs, (void)fd;
    return 0;
}

struct vel_fs *redlab_fs(void)
{
    static struct vel_fs_ops ops;
    static struct vel_fs fs;

    if (!fs.ops) {
        ops = *vel_fs_posix()->ops;
        ops.fsync = forget_to_sync;
        fs.ops = &ops;
    }
    return &fs;
}

const char *redlab_dir(const char *root, size_t member)
{
    static char dirs[8][1024];
    static unsigned turn;
    char *dir = dirs[turn++ % 8];

    snprintf(dir, sizeof dirs[0], "%s/m%zu", root, member);
    return dir;
}

static void must(int rc, const struct vel_err *err)
{
    if (rc < 0)
        bail_out("redlab: %s", err->text);
}

static void make_file(const char *dir, const char *name, size_t size,
                      struct vel_rng *rng)
{
    struct vel_fs *fs = redlab_fs();
    struct vel_err err = {0};
    char *path = vel_path_join(dir, name), *parent = vel_path_dir(path);
    uint8_t *bytes = malloc(size + 1);
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {.tv_sec = 1000000000 + (time_t)vel_rng_below(rng, 1000),
         .tv_nsec = (long)vel_rng_below(rng, 1000000000)}};
    int fd;

    vel_rng_fill(rng, bytes, size);
    must(vel_fs_make_dirs(fs, parent, 0700, &err), &err);
    must(vel_fs_open(fs, path, O_RDWR | O_CREAT | O_TRUNC, 0600, &fd, &err), &err);
    must(vel_fs_write_at(fs, fd, bytes, size, 0, path, &err), &err);
    fs->ops->set_mode(fs, fd, 0600 | (mode_t)vel_rng_below(rng, 64));
    fs->ops->set_times(fs, fd, times);
    must(vel_fs_close(fs, fd, path, &err), &err);
    free(bytes);
    free(parent);
    free(path);
}

void redlab_make(const char *root, size_t member, uint64_t seed, size_t most,
                 struct vel_vec *ret_names)
{
    const char *dir = redlab_dir(root, member);
    struct vel_err err = {0};
    struct vel_rng rng;

    vel_rng_init(&rng, seed * 1000 + member);
    vel_vec_init(ret_names, sizeof(char *));
    must(vel_fs_make_dirs(redlab_fs(), dir, 0700, &err), &err);
    size_t files = vel_rng_below(&rng, REDLAB_FILES + 1); /* none at times */
    for (size_t i = 0; i < files; i++) {
        char *name = malloc(64);
        size_t size = vel_rng_below(&rng, 8) == 0 ? 0 : vel_rng_below(&rng, most);

        snprintf(name, 64, "%sfile-%zu.h5", i % 2 ? "sub/" : "", i);
        make_file(dir, name, size, &rng);
        vel_vec_push(ret_names, &name);
    }
}

struct lab {
    struct vel_manifest list[VEL_SET_MAX];
    struct vel_red_header header[VEL_SET_MAX];
    struct vel_member member[VEL_SET_MAX];
    struct vel_member *members[VEL_SET_MAX];
    char *path[VEL_SET_MAX];
    char *temporary[VEL_SET_MAX];
};

static void copy_list(const struct vel_manifest *from, struct vel_manifest *to)
{
    size_t len = vel_manifest_encoded_size(from);
    uint8_t *bytes = malloc(len);
    struct vel_le_writer w;
    struct vel_le_reader r;
    struct vel_err err = {0};

    vel_le_write_init(&w, bytes, len);
    vel_manifest_encode(from, &w);
    vel_le_read_init(&r, bytes, len);
    vel_manifest_fini(to);
    must(vel_manifest_decode(&r, to, &err), &err);
    free(bytes);
}

static void open_all(struct lab *lab, const char *root, const char *label,
                     const struct vel_layout *layout, const struct redlab_set *set)
{
    struct vel_err err = {0};
    size_t n = layout->n, sizes[VEL_SET_MAX];

    for (size_t i = 0; i < n; i++) {
        struct vel_red_header *h = &lab->header[i];
        const char *dir = redlab_dir(root, set->first + i);
        struct vel_layout copy;

        must(vel_layout_init(&copy, layout->scheme, n, layout->m, layout->lofi_size,
                             &err),
             &err);
        must(vel_red_header_init(h, &copy, (uint32_t)i, &err), &err);
        memcpy(h->id, &set->seed, sizeof set->seed);
        h->sequence = set->seed;
        h->set = (uint32_t)(set->first / n);
        h->sets = (uint32_t)set->sets;
        copy_list(&lab->list[i], &h->list[0]);
        for (size_t k = 0; k < h->lists; k++)
            sizes[k] = vel_manifest_encoded_size(&lab->list[(i + n - k) % n]);
        char *name = vel_red_file_name(h, label);
        lab->path[i] = vel_path_join(dir, name);
        lab->temporary[i] = vel_red_temporary(dir, name);
        free(name);
        must(vel_member_open(&lab->member[i], redlab_fs(), dir, lab->temporary[i],
                             vel_red_header_size_of(&h->layout, (uint32_t)i, sizes), h,
                             NULL, VEL_MEMBER_ENCODE, &err),
             &err);
        lab->members[i] = &lab->member[i];
    }
}

static void seal_all(struct lab *lab, size_t n)
{
    struct vel_err err = {0};

    for (size_t i = 0; i < n; i++) {
        must(vel_member_read_rest(&lab->member[i], &err), &err);
        vel_member_store_crcs(&lab->member[i], &lab->header[i]);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 1; k < lab->header[i].lists; k++)
            copy_list(&lab->header[(i + n - k) % n].list[0], &lab->header[i].list[k]);
        must(vel_redfile_seal(&lab->member[i], &lab->header[i], &err), &err);
        must(vel_fs_rename(redlab_fs(), lab->temporary[i], lab->path[i], &err), &err);
    }
}

int redlab_apply(const char *root, const char *label, enum vel_scheme scheme, size_t n,
                 size_t m, uint64_t seed, size_t most)
{
    return redlab_apply_with(root, label, scheme, n, m, seed, most, NULL, NULL);
}

int redlab_apply_with(const char *root, const char *label, enum vel_scheme scheme,
                      size_t n, size_t m, uint64_t seed, size_t most,
                      redlab_describe_f *describe, void *arg)
{
    struct vel_vec names[VEL_SET_MAX] = {0};

    for (size_t i = 0; i < n; i++)
        redlab_make(root, i, seed, most, &names[i]);
    const struct redlab_set set = {
        .scheme = scheme, .n = n, .m = m, .seed = seed, .sets = 1};
    int rc = redlab_protect(root, label, &set, names, describe, arg);
    for (size_t i = 0; i < n; i++)
        vel_fs_names_fini(&names[i]);
    return rc;
}

int redlab_protect(const char *root, const char *label, const struct redlab_set *set,
                   const struct vel_vec *names, redlab_describe_f *describe, void *arg)
{
    size_t n = set->n;
    struct lab *lab = calloc(1, sizeof *lab);
    uint64_t sizes[VEL_SET_MAX];
    struct vel_layout layout;
    struct vel_plan plan;
    struct vel_err err = {0};

    for (size_t i = 0; i < n; i++) {
        vel_manifest_init(&lab->list[i], (uint32_t)(set->first + i));
        if (describe)
            describe(arg, set->first + i, &lab->list[i].descriptor);
        for (size_t f = 0; f < names[i].n; f++)
            must(vel_manifest_add(&lab->list[i], redlab_fs(),
                                  redlab_dir(root, set->first + i),
                                  ((char **)names[i].items)[f], &err),
                 &err);
        sizes[i] = lab->list[i].total;
    }
    must(vel_layout_init(&layout, set->scheme, n, set->m, sizes, &err), &err);
    open_all(lab, root, label, &layout, set);
    must(vel_plan_encode(&layout, &plan, &err), &err);
    int rc = vel_exec_local(&layout, &plan, lab->members, 1 << 20, NULL, NULL, &err);
    if (rc == 0)
        seal_all(lab, n);
    vel_plan_fini(&plan);
    vel_layout_fini(&layout);
    for (size_t i = 0; i < n; i++) {
        vel_member_close(&lab->member[i]);
        vel_red_header_fini(&lab->header[i]);
        vel_manifest_fini(&lab->list[i]);
        free(lab->path[i]);
        free(lab->temporary[i]);
    }
    free(lab);
    return rc;
}

struct sum {
    const char *root;
    uint64_t value;
};

static int add_to_sum(void *arg, enum vel_fs_visit what, const char *below,
                      const struct stat *st, struct vel_err *err)
{
    struct sum *sum = arg;
    struct vel_buf bytes;

    if (what != VEL_FS_FILE)
        return 0;
    char *path = vel_path_join(sum->root, below);
    vel_buf_init(&bytes);
    int rc = vel_fs_read_file(redlab_fs(), path, 1 << 30, &bytes, err);
    /* redundancy files are ours: their times may change */
    bool ours = vel_red_is_file_name(below);
    uint64_t meta[4] = {st->st_mode, ours ? 0 : (uint64_t)st->st_mtim.tv_sec,
                        ours ? 0 : (uint64_t)st->st_mtim.tv_nsec, bytes.len};
    uint32_t crc = vel_crc32c(0, vel_buf_text(&bytes), bytes.len);
    crc = vel_crc32c(crc, meta, sizeof meta);
    crc = vel_crc32c(crc, below, strlen(below));
    sum->value = sum->value * 1099511628211u + crc + 1;
    vel_buf_fini(&bytes);
    free(path);
    return rc;
}

uint64_t redlab_state(const char *root, size_t member)
{
    return redlab_state_of(redlab_dir(root, member));
}

uint64_t redlab_state_of(const char *dir)
{
    struct sum sum = {.root = dir};
    struct vel_err err = {0};

    if (vel_fs_exists(redlab_fs(), sum.root))
        must(vel_fs_walk(redlab_fs(), sum.root, add_to_sum, &sum, &err), &err);
    return sum.value;
}

void redlab_lose(const char *root, size_t member)
{
    struct vel_err err = {0};

    must(vel_fs_remove_tree(redlab_fs(), redlab_dir(root, member), &err), &err);
}

static char *aside_of(const char *dir)
{
    char *aside = malloc(strlen(dir) + 8);

    sprintf(aside, "%s.aside", dir);
    return aside;
}

void redlab_put_aside(const char *root, size_t member)
{
    const char *dir = redlab_dir(root, member);
    char *aside = aside_of(dir);
    struct vel_err err = {0};

    must(vel_fs_remove_tree(redlab_fs(), aside, &err), &err);
    must(vel_fs_rename(redlab_fs(), dir, aside, &err), &err);
    free(aside);
}

void redlab_put_back(const char *root, size_t member)
{
    const char *dir = redlab_dir(root, member);
    char *aside = aside_of(dir);
    struct vel_err err = {0};

    redlab_lose(root, member);
    must(vel_fs_rename(redlab_fs(), aside, dir, &err), &err);
    free(aside);
}

struct pick {
    const char *root;
    bool is_redundancy; /* only such files count */
    size_t left;
    char *path;
    uint64_t size;
    struct timespec times[2];
};

static int pick_file(void *arg, enum vel_fs_visit what, const char *below,
                     const struct stat *st, struct vel_err *err)
{
    struct pick *pick = arg;

    (void)err;
    if (what != VEL_FS_FILE || (pick->is_redundancy && !vel_red_is_file_name(below)) ||
        pick->left-- > 0)
        return 0;
    pick->path = vel_path_join(pick->root, below);
    pick->size = (uint64_t)st->st_size;
    pick->times[0] = st->st_atim;
    pick->times[1] = st->st_mtim;
    return VEL_ECANCEL; /* found: end the walk */
}

static void flip(const struct pick *pick, uint64_t bit)
{
    struct vel_fs *fs = redlab_fs();
    struct vel_err err = {0};
    off_t at = (off_t)(bit / 8);
    uint8_t byte;
    int fd;

    must(vel_fs_open(fs, pick->path, O_RDWR, 0, &fd, &err), &err);
    must(vel_fs_read_at(fs, fd, &byte, 1, at, pick->path, &err), &err);
    byte ^= (uint8_t)(1 << bit % 8);
    must(vel_fs_write_at(fs, fd, &byte, 1, at, pick->path, &err), &err);
    fs->ops->set_times(fs, fd, pick->times);
    must(vel_fs_close(fs, fd, pick->path, &err), &err);
}

bool redlab_damage(const char *root, size_t member, size_t i, uint64_t seed)
{
    struct pick pick = {.root = redlab_dir(root, member), .left = i};
    struct vel_rng rng;

    vel_fs_walk(redlab_fs(), pick.root, pick_file, &pick, NULL);
    bool has_bytes = pick.path && pick.size > 0;
    if (has_bytes) {
        vel_rng_init(&rng, seed);
        flip(&pick, vel_rng_below(&rng, 8 * pick.size));
    }
    free(pick.path);
    return has_bytes;
}

bool redlab_damage_header(const char *root, size_t member, uint64_t bit)
{
    struct pick pick = {.root = redlab_dir(root, member), .is_redundancy = true};
    uint8_t size[8] = {0};
    struct vel_err err = {0};
    struct vel_le_reader r;
    int fd;

    vel_fs_walk(redlab_fs(), pick.root, pick_file, &pick, NULL);
    if (!pick.path)
        return false;
    must(vel_fs_open(redlab_fs(), pick.path, O_RDONLY, 0, &fd, &err), &err);
    must(vel_fs_read_at(redlab_fs(), fd, size, sizeof size, 16, pick.path, &err), &err);
    must(vel_fs_close(redlab_fs(), fd, pick.path, &err), &err);
    vel_le_read_init(&r, size, sizeof size);
    bool is_inside = bit / 8 < vel_le_get64(&r);
    if (is_inside)
        flip(&pick, bit);
    free(pick.path);
    return is_inside;
}
