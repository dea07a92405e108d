/* SPDX-License-Identifier: BSD-3-Clause */
/* What fails below the connector fails for the program as without it, frame by frame:
 * all that HDF5 says natively is said, in its order, and nothing else but the two
 * frames that HDF5 itself puts on the stack for a connector over another one. And
 * everything is printed once. */
#include "config.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hdf5.h>

#include "H5VLveloc.h"
#include "tap/files.h"
#include "tap/tap.h"

enum { FRAMES = 32 };

struct frame {
    char func[64], text[512];
};

struct stack {
    size_t n;
    struct frame frames[FRAMES]; /* the last caller first */
};

/* What no two runs have the same. */
static void take_out(char *text, const char *word)
{
    char *value = strstr(text, word), *end = value ? strchr(value, ',') : NULL;

    if (end)
        memmove(value, end, strlen(end) + 1);
}

static herr_t look(unsigned n, const H5E_error2_t *entry, void *data)
{
    struct stack *stack = data;
    struct frame *frame = &stack->frames[stack->n];

    (void)n;
    if (stack->n == FRAMES)
        return -1;
    snprintf(frame->func, sizeof frame->func, "%s", entry->func_name);
    snprintf(frame->text, sizeof frame->text, "%s: %s", entry->func_name, entry->desc);
    take_out(frame->text, "time = ");
    take_out(frame->text, "file descriptor = ");
    take_out(frame->text, "buf = ");
    stack->n++;
    return 0;
}

/* H5VLfile_open() and then H5VL__file_open(): the call of a connector below. */
static bool is_passing(const struct stack *stack, size_t i)
{
    const char *func = stack->frames[i].func;

    return strncmp(func, "H5VL", 4) == 0 && islower((unsigned char)func[4]) &&
           i + 1 < stack->n && strncmp(stack->frames[i + 1].func, "H5VL__", 6) == 0 &&
           strcmp(stack->frames[i + 1].func + 6, func + 4) == 0;
}

/* Takes out what every connector over another one has. */
static size_t take_passing(struct stack *stack)
{
    size_t taken = 0;

    for (size_t i = 0; i < stack->n; i++)
        if (is_passing(stack, i)) {
            stack->n -= 2;
            taken += 2;
            memmove(&stack->frames[i], &stack->frames[i + 2],
                    (stack->n - i) * sizeof stack->frames[0]);
            i--;
        }
    return taken;
}

/* Did it get as far as a connector? */
static bool has_call(const struct stack *stack)
{
    for (size_t i = 0; i < stack->n; i++)
        if (strncmp(stack->frames[i].func, "H5VL__", 6) == 0)
            return true;
    return false;
}

static void same(const char *what, struct stack *ours, const struct stack *native)
{
    size_t taken = take_passing(ours), i = 0;

    while (i < ours->n && i < native->n &&
           strcmp(ours->frames[i].text, native->frames[i].text) == 0)
        i++;
    ok(native->n > 0 && i == native->n && i == ours->n,
       "%s: each of %zu frames is what it was", what, native->n);
    if (i < ours->n || i < native->n)
        note("frame %zu: %s\nnatively: %s", i, i < ours->n ? ours->frames[i].text : "",
             i < native->n ? native->frames[i].text : "");
    if (has_call(native))
        is_int(taken, 2, "and HDF5 has two more of the call below");
}

static int printed;

static herr_t print(hid_t stack, void *arg)
{
    (void)stack;
    printed += arg == &printed;
    return 0;
}

typedef hid_t fails_f(hid_t file, hid_t fapl);

static hid_t open_missing(hid_t file, hid_t fapl)
{
    (void)file;
    return H5Fopen(tap_path("missing.h5"), H5F_ACC_RDONLY, fapl);
}

static hid_t probe_missing(hid_t file, hid_t fapl)
{
    (void)file;
    return H5Fis_accessible(tap_path("missing.h5"), fapl);
}

static hid_t delete_missing(hid_t file, hid_t fapl)
{
    (void)file;
    return H5Fdelete(tap_path("missing.h5"), fapl);
}

static hid_t open_text(hid_t file, hid_t fapl)
{
    (void)file;
    return H5Fopen(tap_path("text"), H5F_ACC_RDONLY, fapl);
}

static hid_t write_text(hid_t file, hid_t fapl)
{
    (void)file;
    return H5Fopen(tap_path("text"), H5F_ACC_RDWR, fapl);
}

static hid_t delete_text(hid_t file, hid_t fapl)
{
    (void)file;
    return H5Fdelete(tap_path("text"), fapl);
}

static hid_t create_again(hid_t file, hid_t fapl)
{
    (void)file;
    return H5Fcreate(tap_path("there.h5"), H5F_ACC_EXCL, H5P_DEFAULT, fapl);
}

static hid_t create_nowhere(hid_t file, hid_t fapl)
{
    (void)file;
    return H5Fcreate(tap_path("no/where.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
}

static hid_t open_dataset(hid_t file, hid_t fapl)
{
    (void)fapl;
    return H5Dopen2(file, "nope", H5P_DEFAULT);
}

static hid_t open_attribute(hid_t file, hid_t fapl)
{
    (void)fapl;
    return H5Aopen(file, "nope", H5P_DEFAULT);
}

static hid_t delete_link(hid_t file, hid_t fapl)
{
    (void)fapl;
    return H5Ldelete(file, "nope", H5P_DEFAULT);
}

static hid_t copy_object(hid_t file, hid_t fapl)
{
    (void)fapl;
    return H5Ocopy(file, "nope", file, "there", H5P_DEFAULT, H5P_DEFAULT);
}

static hid_t probe_empty_name(hid_t file, hid_t fapl)
{
    (void)file;
    return H5Fis_accessible("", fapl);
}

static hid_t probe_directory(hid_t file, hid_t fapl)
{
    (void)file;
    return H5Fis_accessible(tap_dir(), fapl);
}

static hid_t delete_directory(hid_t file, hid_t fapl)
{
    (void)file;
    return H5Fdelete(tap_dir(), fapl);
}

static hid_t truncate_open(hid_t file, hid_t fapl)
{
    (void)file;
    return H5Fcreate(tap_path("there.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
}

static hid_t open_directory(hid_t file, hid_t fapl)
{
    (void)file;
    return H5Fopen(tap_dir(), H5F_ACC_RDONLY, fapl);
}

static hid_t open_badly(hid_t file, hid_t fapl)
{
    (void)file;
    return H5Fopen(tap_path("there.h5"), H5F_ACC_RDWR | H5F_ACC_TRUNC, fapl);
}

static hid_t open_cut(hid_t file, hid_t fapl)
{
    (void)file;
    return H5Fopen(tap_path("cut.h5"), H5F_ACC_RDONLY, fapl);
}

static hid_t write_cut(hid_t file, hid_t fapl)
{
    (void)file;
    return H5Fopen(tap_path("cut.h5"), H5F_ACC_RDWR, fapl);
}

static hid_t reopen_space(hid_t file, hid_t fapl)
{
    hid_t space = H5Screate(H5S_SCALAR), rc = H5Freopen(space),
          stack = H5Eget_current_stack();

    (void)file, (void)fapl;
    H5Sclose(space);
    H5Eset_current_stack(stack);
    return rc;
}

static hid_t mount_nowhere(hid_t file, hid_t fapl)
{
    hid_t child = H5Fcreate(tap_path("child.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    hid_t rc = H5Fmount(file, "nope", child, H5P_DEFAULT);
    hid_t stack = H5Eget_current_stack();

    H5Fclose(child);
    H5Eset_current_stack(stack);
    return rc;
}

static hid_t mount_itself(hid_t file, hid_t fapl)
{
    (void)fapl;
    return H5Fmount(file, "/", file, H5P_DEFAULT);
}

static hid_t unmount_nothing(hid_t file, hid_t fapl)
{
    (void)fapl;
    return H5Funmount(file, "/");
}

static hid_t follow_nowhere(hid_t file, hid_t fapl)
{
    (void)fapl;
    return H5Gopen2(file, "outside", H5P_DEFAULT);
}

static const struct {
    const char *what;
    fails_f *fails;
} cases[] = {
    {"a file that is not there", open_missing},
    {"a question for one that is not there", probe_missing},
    {"such a one deleted", delete_missing},
    {"one that HDF5 does not know", open_text},
    {"the same to be written", write_text},
    {"the same deleted", delete_text},
    {"a file that is there already", create_again},
    {"a file in no directory", create_nowhere},
    {"a question for no name", probe_empty_name},
    {"a question for a directory", probe_directory},
    {"a directory deleted", delete_directory},
    {"a directory opened", open_directory},
    {"a file created again that is open", truncate_open},
    {"a file opened with flags to create it", open_badly},
    {"a file cut short", open_cut},
    {"the same to be written", write_cut},
    {"opened again what is no file", reopen_space},
    {"a file mounted nowhere", mount_nowhere},
    {"a file mounted in itself", mount_itself},
    {"nothing unmounted", unmount_nothing},
    {"a link into a file that is not there", follow_nowhere},
    {"a dataset that is not there", open_dataset},
    {"an attribute that is not there", open_attribute},
    {"a link that is not there", delete_link},
    {"a copy of nothing", copy_object},
};

enum { CASES = sizeof cases / sizeof cases[0] };

static void collect(hid_t fapl, struct stack stacks[CASES])
{
    hid_t file = H5Fopen(tap_path("there.h5"), H5F_ACC_RDWR, fapl);

    for (size_t i = 0; i < CASES; i++) {
        stacks[i].n = 0;
        if (cases[i].fails(file, fapl) < 0)
            H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, look, &stacks[i]);
    }
    H5Fclose(file);
}

static hid_t list_of(hid_t connector)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);

    return H5Pset_vol(fapl, connector, NULL) < 0 ? -1 : fapl;
}

/* HDF5 asks every plug-in that it finds for a file which it cannot open natively, and
 * then says what they said. */
static void find_no_plugins(void)
{
    unsigned n = 0;

    while (H5PLsize(&n) >= 0 && n > 0)
        H5PLremove(0);
}

static void make_files(hid_t without)
{
    hid_t file = H5Fcreate(tap_path("there.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, without);

    H5Lcreate_external("missing.h5", "/", file, "outside", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
    H5Fclose(H5Fcreate(tap_path("cut.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, without));
    tap_put_file(tap_path("text"), "no file of HDF5");
    if (truncate(tap_path("cut.h5"), 100) < 0)
        bail_out("%s cannot be cut", tap_path("cut.h5"));
}

int main(void)
{
    static struct stack native[CASES], ours[CASES];
    int moved = mkdir(tap_path("work"), 0700) | chdir(tap_path("work"));
    hid_t connector = H5VLregister_connector_by_name(H5VL_VELOC_NAME, H5P_DEFAULT);
    hid_t without = list_of(H5VL_NATIVE), with = list_of(connector);
    H5E_auto2_t kept = NULL;
    void *arg = NULL;

    if (moved != 0)
        bail_out("no directory to work in");
    find_no_plugins();
    make_files(without);
    H5Eset_auto2(H5E_DEFAULT, print, &printed);
    collect(without, native);
    is_int(printed, CASES, "without the connector HDF5 prints each failure");
    printed = 0;
    collect(with, ours);
    is_int(printed, CASES, "with it also, and each once");
    for (size_t i = 0; i < CASES; i++)
        same(cases[i].what, &ours[i], &native[i]);
    ok(H5Eget_auto2(H5E_DEFAULT, &kept, &arg) >= 0 && kept == print && arg == &printed,
       "who prints errors is left as it was");
    ok(access(".veloc", F_OK) < 0,
       "files outside of the prefix leave nothing in the prefix");
    H5Pclose(with);
    H5Pclose(without);
    H5VLclose(connector);
    return done_testing();
}
