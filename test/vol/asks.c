/* SPDX-License-Identifier: BSD-3-Clause */
/* What H5VLveloc.h tells a program, by a leader that follows a script. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "H5VLveloc.h"
#include "ident/once.h"
#include "meta/paths.h"
#include "process/files.h"
#include "tap/placelab.h"
#include "tap/tap.h"
#include "view/view.h"

static struct placelab lab;
static hid_t ours;

static void create(const char *name)
{
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, ours);

    if (file < 0 || H5Fclose(file) < 0)
        bail_out("%s was not created", name);
}

/* --- how safe it is --- */

static int safety(const char *name)
{
    H5VL_veloc_status_t status;

    return H5VL_veloc_test(name, ours, &status) < 0 ? -2 : (int)status.safety;
}

static void test_states(void)
{
    static const struct {
        const char *states;
        int want;
        const char *what;
    } rows[] = {
        {"1", H5VL_VELOC_INCOMPLETE, "others of its dataset are written"},
        {"2", H5VL_VELOC_COMPLETE, "sealed is complete"},
        {"3", H5VL_VELOC_PROTECTED, "encoded is protected"},
        {"4", H5VL_VELOC_COMPLETE, "it may be flushed because nothing protects it"},
        {"5", H5VL_VELOC_FLUSHED, "flushed is flushed"},
        {"6", H5VL_VELOC_INCOMPLETE, "what is replaced has a successor"},
        {"7", H5VL_VELOC_LOST, "lost is lost"},
    };

    create("a.h5");
    is_int(safety("a.h5"), H5VL_VELOC_INCOMPLETE, "a file without a dataset");
    lab.dataset = 9;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lab.states = rows[i].states;
        is_int(safety("a.h5"), rows[i].want, "%s", rows[i].what);
    }
    lab.states = "4";
    lab.is_encoded = true;
    is_int(safety("a.h5"), H5VL_VELOC_PROTECTED, "what was protected is so meanwhile");
    lab.is_encoded = false;
    lab.dataset = 0;
    lab.states = NULL;
}

static void test_told(void)
{
    H5VL_veloc_status_t status;

    lab.dataset = 9;
    lab.states = "2";
    lab.text = "there is no room";
    is_int(H5VL_veloc_test("a.h5", ours, &status), 0, "a file is asked for");
    ok(status.dataset == 9 && status.left == 10, "its dataset is told");
    is_str(status.why, "there is no room", "and why it comes no further");
    lab.dataset = 0;
    lab.states = lab.text = NULL;
}

static void test_own(void)
{
    H5VL_veloc_status_t status;

    is_int(safety("missing.h5"), H5VL_VELOC_ABSENT, "a file that is not there");
    H5Fclose(H5Fcreate("own.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    is_int(safety("own.h5"), H5VL_VELOC_FLUSHED, "one at its own path");
    H5Fclose(H5Fcreate(tap_path("out.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    is_int(safety(tap_path("out.h5")), H5VL_VELOC_FLUSHED, "one outside the prefix");
    is_int(safety(tap_path("no/where.h5")), H5VL_VELOC_ABSENT, "and none there");
    placelab_say(&lab, "lost.h5", 3);
    ok(H5VL_veloc_test("lost.h5", ours, &status) == 0 &&
           status.safety == H5VL_VELOC_LOST,
       "one that is lost");
    is_str(status.why, "dataset 7 is lost, older.h5 is the newest", "and what is left");
}

/* --- until it is --- */

static void test_wait(void)
{
    H5VL_veloc_status_t status;

    lab.dataset = 9;
    lab.states = "111235";
    ok(H5VL_veloc_wait("a.h5", ours, H5VL_VELOC_PROTECTED, 1e30, &status) == 0 &&
           status.safety == H5VL_VELOC_PROTECTED,
       "it is waited for until it is protected");
    is_str(lab.states, "5", "and no longer");
    lab.states = "2";
    ok(H5VL_veloc_wait("a.h5", ours, H5VL_VELOC_FLUSHED, 0.01, &status) == 0 &&
           status.safety == H5VL_VELOC_COMPLETE,
       "who does not want to wait longer is told how far it is");
    lab.states = "27";
    ok(H5VL_veloc_wait("a.h5", ours, H5VL_VELOC_FLUSHED, 1e30, &status) == 0 &&
           status.safety == H5VL_VELOC_LOST,
       "what is lost is not waited for");
    lab.dataset = 0;
    lab.states = NULL;
}

/* --- what others have left --- */

static void push(struct vel_vec *vec, size_t size, const void *item)
{
    if (vec->item_size == 0)
        vel_vec_init(vec, size);
    if (!vel_vec_push(vec, item))
        bail_out("no memory");
}

/* A checkpoint of two ranks on one node, with parity. */
static struct vel_view_dataset dataset_of(int64_t id)
{
    struct vel_view_dataset dataset = {.about = {.id = id,
                                                 .name = strdup("ck"),
                                                 .use = VEL_USE_CHECKPOINT,
                                                 .checkpoint = id,
                                                 .ranks = 2,
                                                 .nodes = 1,
                                                 .created = 1000 + id},
                                       .is_cached = true,
                                       .scheme = VEL_XOR};
    struct vel_view_set set = {.m = 1};

    for (int rank = 0; rank < 2; rank++)
        push(&set.places, sizeof(struct vel_view_place),
             &(struct vel_view_place){.rank = rank});
    push(&dataset.sets, sizeof set, &set);
    return dataset;
}

static void name_in(struct vel_view *view, const char *name, int rank, int64_t id)
{
    const struct vel_view_name item = {.name = strdup(name),
                                       .id = id,
                                       .rank = rank,
                                       .size = 100,
                                       .lost = id == 0 ? 6 : 0};

    push(&view->names, sizeof item, &item);
    if (id > 0)
        H5Fclose(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
}

/* The record of launch L. */
static void leave_view(void)
{
    struct vel_view view = {.launch = strdup("L"), .highest = 6};
    const struct vel_view_lost lost = {6, VEL_VIEW_INCOMPLETE,
                                       strdup("a part is lost")};
    char *node = strdup("n1"), *dir = vel_veloc_dir(lab.prefix);
    char *path = vel_view_path(dir, "L");
    struct vel_view_dataset dataset;
    struct vel_err err = {0};
    struct vel_node *body;
    bool is_mine;

    vel_vec_init(&view.alive, sizeof(int64_t));
    push(&view.nodes, sizeof node, &node);
    for (int64_t id = 5; id >= 4; id--) {
        dataset = dataset_of(id);
        push(&view.datasets, sizeof dataset, &dataset);
    }
    push(&view.lost, sizeof lost, &lost);
    name_in(&view, "ck.1.0.h5", 0, 4);
    name_in(&view, "ck.1.1.h5", 1, 4);
    name_in(&view, "ck.2.0.h5", 0, 5);
    name_in(&view, "ck.2.1.h5", 1, 5);
    name_in(&view, "ck.3.0.h5", 0, 0);
    name_in(&view, "only.1.h5", 1, 5);
    body = vel_view_to_node(&view, &err);
    if (!body || vel_once(vel_fs_posix(), path, VEL_VIEW_TYPE, VEL_VIEW_FORMAT, body,
                          &is_mine, &err) < 0)
        bail_out("no view: %s", err.text);
    vel_node_destroy(body);
    vel_view_fini(&view);
    free(path);
    free(dir);
}

/* "ck.2.0.h5 5 own; " */
static herr_t note_version(const H5VL_veloc_version_t *version, void *data)
{
    char *text = data;
    const char *name = strrchr(version->name, '/') + 1;

    snprintf(text + strlen(text), 400 - strlen(text), "%s %d%s%s; ", name,
             (int)version->dataset, version->is_own ? " own" : "",
             version->why ? " lost" : "");
    return 0;
}

static const char *versions(const char *pattern)
{
    static char text[400];

    *text = '\0';
    if (H5VL_veloc_versions(pattern, ours, note_version, text) != 0)
        return "failed";
    return text;
}

static herr_t stop(const H5VL_veloc_version_t *version, void *data)
{
    (void)version;
    return ++*(int *)data == 2 ? 42 : 0;
}

static const char *newest(const char *pattern, int64_t *ret_dataset)
{
    static char name[500];

    if (H5VL_veloc_restart(pattern, ours, name, sizeof name, ret_dataset) < 0)
        return "failed";
    return strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
}

static void test_left(void)
{
    int64_t dataset = 0;
    int n = 0;

    leave_view();
    is_str(versions("ck.{step}.{rank}.h5"),
           "ck.2.0.h5 5 own; ck.2.1.h5 5; ck.1.0.h5 4 own; ck.1.1.h5 4; "
           "ck.3.0.h5 6 own lost; ",
           "versions, the newest first, and what is lost");
    is_str(versions("*{step}.1.h5"), "ck.2.1.h5 5; ck.1.1.h5 4; ",
           "of the names that fit");
    is_int(H5VL_veloc_versions("ck.*", ours, stop, &n), 42,
           "until who sees them stops");
    is_int(n, 2, "and no longer");
    is_str(newest("ck.{step}.{rank}.h5", &dataset), "ck.2.0.h5",
           "a rank goes on with its file of the newest dataset");
    is_int(dataset, 5, "which all ranks are told");
    is_str(newest("only.{rank}.h5", &dataset), "", "one without a file has none");
    is_int(dataset, 5, "and the same dataset");
    is_str(newest("only.*.h5", &dataset), "only.1.h5",
           "a file of all is that of the rank that wrote it");
    is_str(newest("nothing.{step}", &dataset), "", "there may be nothing");
    is_int(dataset, 0, "and no dataset");
    lab.dataset = 5;
    lab.states = "0";
    is_int(safety("a.h5"), H5VL_VELOC_PROTECTED,
           "what the leader has nothing to do with is as it was left");
    lab.dataset = 0;
    lab.states = NULL;
    unlink("ck.2.0.h5");
    is_str(newest("ck.{step}.{rank}.h5", &dataset), "ck.1.0.h5",
           "what was removed is no more");
}

/* --- what is wrong --- */

static herr_t find_ours(unsigned n, const H5E_error2_t *entry, void *data)
{
    (void)n;
    if (strstr(entry->func_name, "connector veloc"))
        snprintf(data, 200, "%s", entry->desc);
    return 0;
}

/* The sentence of ours on the stack; good until the next. */
static const char *cause(void)
{
    static char text[200];

    *text = '\0';
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, find_ours, text);
    return text;
}

static herr_t ignore(const H5VL_veloc_version_t *version, void *data)
{
    (void)version, (void)data;
    return 0;
}

static void test_wrong(void)
{
    H5VL_veloc_status_t status;
    H5VL_veloc_status_args_t args = {.version = 99, .name = "a.h5", .status = &status};
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    char name[1];

    is_int(H5VL_veloc_wait("a.h5", ours, H5VL_VELOC_FLUSHED, -1, &status), -1,
           "nobody waits for a negative time");
    ok(strstr(cause(), "an argument is missing or negative"), "which is said");
    is_int(H5VL_veloc_test(NULL, ours, &status), -1, "no name is no file");
    is_int(H5VL_veloc_ask_(H5VL_VELOC_OP_STATUS, &args), -1,
           "arguments of tomorrow are refused");
    is_int(H5VL_veloc_versions("ck.{stop}.h5", ours, ignore, NULL), -1,
           "a pattern that cannot be one is refused");
    ok(strstr(cause(), "{stop} stands for nothing"), "with the cause");
    is_int(H5VL_veloc_restart("ck.{step}.h5", ours, name, 0, NULL), -1,
           "a name needs room");
    is_int(H5VL_veloc_test("a.h5", -5, &status), -1, "what is no list is refused");
    is_int(H5Pset_vol_veloc(fapl, "under=7"), -1, "wrong information is no connector");
    ok(strstr(cause(), "the information 'under=7' of connector veloc"),
       "which stays on the stack");
    H5Pclose(fapl);
}

/* --- through HDF5 --- */

static void test_operation(void)
{
    H5VL_veloc_status_t status = {.safety = H5VL_VELOC_LOST};
    H5VL_veloc_status_args_t args = {.version = H5VL_VELOC_ARGS_VERSION,
                                     .name = "own.h5",
                                     .fapl_id = H5P_DEFAULT,
                                     .status = &status};
    H5VL_optional_args_t optional = {.args = &args};
    hid_t file = H5Fcreate("b.h5", H5F_ACC_TRUNC, H5P_DEFAULT, ours);
    uint64_t flags = 0;

    ok(H5VLfind_opt_operation(H5VL_SUBCLS_FILE, H5VL_VELOC_OP_STATUS,
                              &optional.op_type) >= 0,
       "the operation has a number");
    ok(H5VLquery_optional(file, H5VL_SUBCLS_FILE, optional.op_type, &flags) >= 0 &&
           flags & H5VL_OPT_QUERY_SUPPORTED,
       "and is one of the connector's");
    ok(H5VLfile_optional_op(file, &optional, H5P_DEFAULT, H5ES_NONE) >= 0 &&
           status.safety == H5VL_VELOC_FLUSHED,
       "an open file carries it, also over other connectors");
    H5Fclose(file);
}

static void test_over_another(void)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), name = -1;
    H5VL_class_value_t value = 0;

    ok(H5Pset_vol_veloc(fapl, "under_vol=1;under_info={under_vol=0;under_info={}}") >=
           0,
       "the connector may be over another");
    H5Pget_vol_id(fapl, &name);
    H5VLget_value(name, &value);
    is_int(value, H5VL_VELOC_VALUE, "and is the one of the list");
    H5VLclose(name);
    H5Pclose(fapl);
}

int main(void)
{
    placelab_start(&lab);
    if (chdir(lab.prefix) < 0)
        bail_out("no prefix");
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    ours = H5Pcreate(H5P_FILE_ACCESS);
    if (!ok(H5Pset_fapl_veloc(ours, NULL) >= 0, "a list names the connector"))
        return done_testing();
    test_states();
    test_told();
    test_own();
    test_wait();
    test_left();
    test_wrong();
    test_operation();
    test_over_another();
    H5Pclose(ours);
    H5close();
    vel_files_leave();
    placelab_end(&lab);
    return done_testing();
}
