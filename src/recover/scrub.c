/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "meta/cachename.h"
#include "meta/dataset.h"
#include "meta/paths.h"
#include "recover/scrub_in.h"
#include "red/header.h"
#include "xfer/container.h"
#include "xfer/copy.h"
#include "xfer/temp.h"

/* --- findings --- */

static void finding_fini(struct vel_scrub_finding *finding)
{
    free(finding->what);
    free(finding->why);
    free(finding->where);
}

int vel_scrub_note(struct vel_scrub *s, enum vel_scrub_result result, const char *what,
                   const char *why, const char *where)
{
    struct vel_scrub_finding finding = {.result = result,
                                        .what = strdup(what),
                                        .why = strdup(why),
                                        .where = strdup(where)};

    if (finding.what && finding.why && finding.where &&
        vel_vec_push(&s->out.findings, &finding))
        return 0;
    finding_fini(&finding);
    return vel_out_of_memory(s->err, "scrubbing");
}

void vel_scrubbed_fini(struct vel_scrubbed *scrubbed)
{
    struct vel_scrub_finding *f = scrubbed->findings.items;

    for (size_t i = 0; i < scrubbed->findings.n; i++)
        finding_fini(&f[i]);
    vel_vec_fini(&scrubbed->findings);
}

/* --- files --- */

struct vel_crew vel_scrub_crew(const struct vel_scrub *s, const char *prefix,
                               const char *dir)
{
    return (struct vel_crew){.fs = s->fs,
                             .prefix = prefix,
                             .dir = dir,
                             .copy = {.fs = s->fs, .keeps_metadata = true},
                             .checks_crc = true};
}

int vel_scrub_check(struct vel_scrub *s, const char *path,
                    const struct vel_listed *listed, struct vel_err *why)
{
    struct vel_copy_how how = {.fs = s->fs};
    struct vel_xfer_file file = {.from = path,
                                 .to = path,
                                 .size = listed->size,
                                 .crc = listed->crc,
                                 .has_crc = true};
    struct vel_xfer_copied copied;

    s->out.files++;
    return vel_copy_check(&how, &file, &copied, why);
}

int vel_scrub_check_published(struct vel_scrub *s, const char *prefix, int64_t dataset,
                              const struct vel_listed *listed, struct vel_err *why)
{
    char *path = NULL, *dir;
    int rc;

    if (listed->container < 0) {
        rc = vel_cachename_path(prefix, listed->name, &path, why);
        if (rc == 0)
            rc = vel_scrub_check(s, path, listed, why);
        free(path);
        return rc;
    }
    dir = vel_veloc_dir(prefix);
    if (!dir)
        return vel_out_of_memory(why, "scrubbing");
    struct vel_crew crew = vel_scrub_crew(s, prefix, dir);
    s->out.files++;
    rc = vel_container_check(&crew, dataset, listed, why);
    free(dir);
    return rc;
}

int vel_scrub_mend(struct vel_scrub *s, const char *from, const char *to,
                   const struct vel_listed *listed, struct vel_err *err)
{
    struct vel_copy_how how = {.fs = s->fs, .keeps_metadata = true};
    struct vel_xfer_copied copied;
    struct vel_xfer_file file = {
        .from = from, .size = listed->size, .crc = listed->crc, .has_crc = true};
    char *temp = NULL;
    int rc = vel_xfer_temp_name(to, 0, &temp, err);

    file.to = temp;
    if (rc == 0)
        rc = vel_copy_file(&how, &file, &copied, err);
    if (rc == 0)
        rc = vel_copy_publish(s->fs, temp, to, err);
    free(temp);
    return rc;
}

/* --- what lies in the directories --- */

static int add_member(struct vel_scrub *s, const char *dir)
{
    struct vel_scrub_member member = {.rank = -1, .dir = strdup(dir)};
    char *above = vel_path_dir(dir);
    struct vel_scrub_member *known = s->members.items;
    int64_t rank;
    int rc = 0;

    if (!member.dir || !above) {
        rc = vel_out_of_memory(s->err, "scrubbing");
        goto out;
    }
    for (size_t i = 0; i < s->members.n; i++)
        if (strcmp(known[i].dir, dir) == 0)
            goto out;
    if (vel_number_behind(vel_path_base(dir), "rank.", &rank) && rank <= VEL_RANKS_MAX)
        member.rank = (int)rank;
    vel_number_behind(vel_path_base(above), "dataset.", &member.dataset);
    if (vel_vec_push(&s->members, &member))
        member.dir = NULL;
    else
        rc = vel_out_of_memory(s->err, "scrubbing");
out:
    free(above);
    free(member.dir);
    return rc;
}

struct walk {
    struct vel_scrub *s;
    const char *root;
};

static int visit(void *arg, enum vel_fs_visit what, const char *below,
                 const struct stat *st, struct vel_err *err)
{
    struct walk *walk = arg;
    char *path, *dir;
    int rc;

    (void)st;
    (void)err;
    if (what != VEL_FS_FILE || !vel_red_is_file_name(vel_path_base(below)))
        return 0;
    path = vel_path_join(walk->root, below);
    dir = path ? vel_path_dir(path) : NULL;
    rc = dir ? add_member(walk->s, dir) : vel_out_of_memory(walk->s->err, "scrubbing");
    free(dir);
    free(path);
    return rc;
}

static int look_into(struct vel_scrub *s, const char *dir)
{
    struct walk walk = {.s = s, .root = dir};
    char *veloc = vel_veloc_dir(dir), *copy = NULL;
    bool is_prefix = veloc && vel_fs_exists(s->fs, veloc);

    free(veloc);
    if (!is_prefix)
        return vel_fs_walk(s->fs, dir, visit, &walk, s->err);
    copy = strdup(dir);
    if (copy && vel_vec_push(&s->prefixes, &copy))
        return 0;
    free(copy);
    return vel_out_of_memory(s->err, "scrubbing");
}

static int by_dataset(const void *a, const void *b)
{
    const struct vel_scrub_member *x = a, *y = b;

    if (x->dataset != y->dataset)
        return x->dataset < y->dataset ? -1 : 1;
    return strcmp(x->dir, y->dir);
}

static int scrub_all(struct vel_scrub *s)
{
    const struct vel_scrub_member *m = s->members.items;
    int rc = 0;

    for (size_t first = 0, end; rc == 0 && first < s->members.n; first = end) {
        for (end = first; end < s->members.n && m[end].dataset == m[first].dataset;)
            end++;
        s->out.datasets++;
        rc = vel_scrub_cache(s, first, end);
    }
    for (size_t i = 0; rc == 0 && i < s->prefixes.n; i++)
        rc = vel_scrub_prefix(s, ((char **)s->prefixes.items)[i]);
    return rc;
}

int vel_scrub(struct vel_fs *fs, char *const *dirs, size_t n_dirs,
              const struct vel_scrub_options *options, struct vel_scrubbed *ret,
              struct vel_err *err)
{
    struct vel_scrub s = {.fs = fs, .options = options, .err = err};
    struct vel_scrub_member *m;
    int rc = 0;

    vel_vec_init(&s.members, sizeof(struct vel_scrub_member));
    vel_vec_init(&s.prefixes, sizeof(char *));
    vel_vec_init(&s.out.findings, sizeof(struct vel_scrub_finding));
    for (size_t i = 0; rc == 0 && i < n_dirs; i++)
        rc = look_into(&s, dirs[i]);
    vel_vec_sort(&s.members, by_dataset);
    if (rc == 0)
        rc = scrub_all(&s);
    if (rc == 0 && s.out.datasets == 0)
        rc = vel_fail(err, VEL_ENOENT, "%s%s: there is no dataset of h5veloc", dirs[0],
                      n_dirs > 1 ? " and the others" : "");
    m = s.members.items;
    for (size_t i = 0; i < s.members.n; i++)
        free(m[i].dir);
    vel_vec_fini(&s.members);
    vel_fs_names_fini(&s.prefixes);
    if (rc < 0)
        vel_scrubbed_fini(&s.out);
    else
        *ret = s.out;
    return rc;
}
