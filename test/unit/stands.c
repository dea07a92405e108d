/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap/files.h"
#include "tap/tap.h"
#include "xfer/stands.h"

static struct vel_crew crew;
static struct vel_err err;

static const char *path(void)
{
    return tap_path("prefix/a.h5");
}

/* Other bytes, as many, and as old as they were. */
static void change(const char *text)
{
    struct stat st;

    lstat(path(), &st);
    tap_put_file(path(), text);
    utimensat(AT_FDCWD, path(), (struct timespec[]){st.st_atim, st.st_mtim}, 0);
}

static void touch(void)
{
    const struct timespec past[2] = {{.tv_sec = 12345}, {.tv_sec = 12345}};

    utimensat(AT_FDCWD, path(), past, 0);
}

static void one_file(void)
{
    struct vel_listed file = {.container = -1};

    tap_put_file(path(), "some bytes");
    ok(vel_stands_record(&crew, path(), &file, &err) == 0 && file.size == 10 &&
           file.crc != 0,
       "a file is recorded as it stands");
    ok(vel_stands_untouched(crew.fs, path(), &file) &&
           vel_stands_check(&crew, path(), &file, &err) == 0,
       "it stands while nobody touches it");
    touch();
    ok(!vel_stands_untouched(crew.fs, path(), &file) &&
           vel_stands_check(&crew, path(), &file, &err) == 0,
       "with another time its bytes tell");
    tap_put_file(path(), "same bytes");
    is_int(vel_stands_check(&crew, path(), &file, &err), VEL_ECORRUPT,
           "other bytes are another file");
    ok(strstr(err.text, "a.h5") && strstr(err.text, "checksum"), "which is told");
    crew.checks_crc = false;
    is_int(vel_stands_check(&crew, path(), &file, &err), VEL_ECORRUPT,
           "also where a flush compares no checksums");
    crew.checks_crc = true;
    tap_put_file(path(), "some more bytes");
    is_int(vel_stands_check(&crew, path(), &file, &err), VEL_ECORRUPT,
           "so is one of another size");
    ok(strstr(err.text, "has 15 bytes, recorded are 10"), "which is told");
    unlink(path());
    ok(!vel_stands_untouched(crew.fs, path(), &file) &&
           vel_stands_check(&crew, path(), &file, &err) == VEL_ENOENT &&
           vel_stands_record(&crew, path(), &file, &err) == VEL_ENOENT,
       "and none at all is missed");
}

static bool stands(const struct vel_entry *entry)
{
    bool stands = false;

    if (vel_stands_dataset(&crew, entry, &stands, &err) < 0)
        note("%s", err.text);
    return stands;
}

static void dataset(void)
{
    char name[] = "a.h5", packed[] = "b.h5";
    struct vel_listed files[2] = {{.name = name, .container = -1},
                                  {.name = packed, .container = 0}};
    struct vel_vec list = {.items = files, .n = 2, .item_size = sizeof *files};
    struct vel_entry entry = {.dataset = {.id = 7}, .lists = 1};
    bool none;

    tap_put_file(path(), "some bytes");
    vel_stands_record(&crew, path(), &files[0], &err);
    mkdir(tap_path("prefix/.veloc/dataset.7"), 0700);
    is_int(vel_filelist_save(crew.fs, crew.dir, 7, 0, &list, true, &err), 0,
           "a dataset with a file of its own, and one in a container");
    ok(stands(&entry), "stands");
    change("same bytes");
    ok(stands(&entry), "by size and time alone");
    tap_put_file(path(), "same bytes");
    ok(!stands(&entry), "and not when another file has come there");
    tap_put_file(path(), "some bytes");
    vel_stands_record(&crew, path(), &files[0], &err);
    vel_filelist_save(crew.fs, crew.dir, 7, 0, &list, true, &err);
    entry.lists = 2;
    is_int(vel_stands_dataset(&crew, &entry, &none, &err), VEL_ENOENT,
           "without all lists nobody can tell");
}

int main(void)
{
    struct vel_comm *self;

    tap_fresh_dir(tap_path("prefix"));
    tap_fresh_dir(tap_path("prefix/.veloc"));
    if (vel_comm_self(&self, &err) < 0)
        bail_out("%s", err.text);
    crew = (struct vel_crew){.world = self,
                             .fs = vel_fs_posix(),
                             .prefix = strdup(tap_path("prefix")),
                             .dir = strdup(tap_path("prefix/.veloc")),
                             .checks_crc = true};
    crew.copy.fs = crew.fs;
    if (vel_index_open(crew.fs, crew.dir, &crew.index, &err) < 0)
        bail_out("%s", err.text);
    one_file();
    dataset();
    vel_index_close(crew.index);
    vel_comm_destroy(self);
    free((char *)(uintptr_t)crew.prefix);
    free((char *)(uintptr_t)crew.dir);
    return done_testing();
}
