/* SPDX-License-Identifier: BSD-3-Clause */
/* A ledger: what is written is what is read, and whoever is out writes and tells
 * nothing, whatever others do meanwhile. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/carry.h"
#include "ledger/ledger_in.h"
#include "tap/files.h"
#include "tap/fs_fault.h"
#include "tap/ledgerlab.h"
#include "tap/tap.h"

static struct vel_err err;

/* --- lines --- */

static bool reads_int(const char *text, int64_t want, bool is_right)
{
    struct vel_fields fields = {text, text + strlen(text)};
    int64_t got = vel_fields_int(&fields);

    return got == want && vel_fields_are_right(&fields) == is_right;
}

static bool refuses_text(const char *text)
{
    struct vel_fields fields = {text, text + strlen(text)};
    struct vel_buf got;

    vel_buf_init(&got);
    vel_fields_text(&fields, &got);
    bool refuses = !vel_fields_are_right(&fields) && got.len == 0;
    vel_buf_fini(&got);
    return refuses;
}

static void fields(void)
{
    static const int64_t numbers[] = {0, 1, -1, 10, INT64_MAX, INT64_MIN};
    static const char *const no_texts[] = {"",     " ",      " %4",   " %41", " %2",
                                           " %0a", " a%zzb", " \x7f", " a\tb"};
    struct vel_fields at;
    struct vel_buf text, got;
    char all[256];
    bool is_same = true, refuses = true;

    vel_buf_init(&text);
    vel_buf_init(&got);
    for (int i = 0; i < 256; i++)
        all[i] = (char)i;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        vel_line_put_int(&text, numbers[i]);
    vel_line_put_text(&text, all, sizeof all);
    vel_line_put_text(&text, "", 0);
    vel_line_put_text(&text, "a", 1);
    at = (struct vel_fields){text.data, text.data + text.len};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        is_same = is_same && vel_fields_int(&at) == numbers[i];
    ok(is_same && vel_fields_are_right(&at), "numbers are read as they were written");
    vel_fields_text(&at, &got);
    ok(got.len == sizeof all && memcmp(got.data, all, sizeof all) == 0,
       "so is a text of any bytes");
    vel_fields_text(&at, &got);
    ok(got.len == sizeof all && vel_fields_have(&at), "an empty one");
    vel_fields_text(&at, &got);
    ok(vel_fields_are_right(&at) && !vel_fields_have(&at), "and a last one");
    vel_fields_text(&at, &got);
    ok(!vel_fields_are_right(&at), "there is none behind it");
    for (size_t i = 0; i < sizeof no_texts / sizeof *no_texts; i++)
        refuses = refuses && refuses_text(no_texts[i]);
    ok(refuses, "a text that nobody writes so is none");
    ok(reads_int(" 7", 7, true) && reads_int(" 07", 0, false) &&
           reads_int(" +7", 0, false) && reads_int(" -0", 0, false) &&
           reads_int(" 7x", 0, false) && reads_int(" 9223372036854775808", 0, false) &&
           reads_int(" 123456789012345678901234567890", 0, false) &&
           reads_int("", 0, false),
       "nor is a number");
    vel_buf_fini(&text);
    vel_buf_fini(&got);
}

static void lines(void)
{
    static const char bytes[] = "0000000";
    struct vel_lines at = {.bytes = bytes, .len = strlen(bytes)};
    struct vel_fields in;
    struct vel_buf both;
    struct vel_ledger_line line;

    ok(!vel_lines_next(&at, &line), "what has no line feed is no line");
    vel_buf_init(&both);
    vel_line_add(&both, 7, 100, "seal 1", 6);
    vel_line_add(&both, 7, 100, "sealed 2", 8);
    at = (struct vel_lines){.bytes = both.data, .len = both.len, .at = 100, .salt = 7};
    ok(vel_lines_next(&at, &line) && vel_line_is(&line, "seal", &in) &&
           vel_fields_int(&in) == 1,
       "a line has a kind");
    ok(vel_lines_next(&at, &line) && !vel_line_is(&line, "seal", &in) &&
           !vel_line_is(&line, "sealed2", &in) && vel_line_is(&line, "sealed", &in),
       "which is the whole word");
    at = (struct vel_lines){.bytes = both.data, .len = both.len, .at = 101, .salt = 7};
    ok(vel_lines_next(&at, &line) && !line.text, "it is none in another place");
    at = (struct vel_lines){.bytes = both.data, .len = both.len, .at = 100, .salt = 9};
    ok(vel_lines_next(&at, &line) && !line.text, "nor in another ledger");
    vel_buf_fini(&both);
}

/* Is the last one of three lines right, the first of which stands at 100? */
static bool is_last_right(const struct vel_buf *three)
{
    struct vel_lines at = {
        .bytes = three->data, .len = three->len, .at = 100, .salt = 7};
    struct vel_ledger_line line = {0};

    for (int i = 0; i < 3; i++)
        if (!vel_lines_next(&at, &line))
            return false;
    return line.text && line.len == 6 && memcmp(line.text, "part 3", 6) == 0;
}

static void joined(void)
{
    struct vel_buf three;

    vel_buf_init(&three);
    vel_line_add(&three, 7, 100, "owes 1", 6);
    size_t second = three.len;
    vel_line_add(&three, 7, 100, "owes 2", 6);
    vel_line_add_joined(&three, 7, 100, "part 3", 6, 100 + second);
    ok(is_last_right(&three), "a line that is joined to others has its own text alone");
    three.data[0] ^= 1;
    ok(is_last_right(&three), "one before these may be wrong");
    three.data[second] ^= 1;
    ok(!is_last_right(&three), "where one of these is wrong it does not count");
    vel_buf_fini(&three);
}

/* --- a ledger --- */

static void written(void)
{
    struct vel_ledger_dir dir = ledgerlab_fresh("written");
    struct vel_ledger *ledger = ledgerlab_claim(&dir, 1, 0), *other = NULL;
    struct vel_ledger_text text = ledgerlab_load(&dir, 1, 0);

    ok(text.node && !text.has_begin && text.heir == 0, "a claim has no begin");
    is_str(text.node, "n1", "its title says who writes it");
    ok(strcmp(text.address, "unix:/a b") == 0 && text.process == 4711, "and where");
    vel_ledger_text_fini(&text);
    is_int(vel_ledger_claim(&dir, (struct vel_ledger_name){1, 0}, &ledgerlab_self,
                            &other, &err),
           VEL_EEXIST, "nobody else can have the name: %s", err.text);
    is_int(ledgerlab_begin(ledger, &dir, "a 1\nb 2\n", &err), 0, "it begins");
    is_int(ledgerlab_tell(ledger, "c 3\n", &err), 0, "a fact is told");
    is_int(vel_ledger_append(ledger, "d 4\ne 5\n", 8, &err), 0, "two are appended");
    is_int(vel_ledger_append_joined(ledger, "f 6\n", 4, &err), 0,
           "one is joined to them");
    text = ledgerlab_load(&dir, 1, 0);
    ok(text.has_begin && text.wrong == 0, "whoever reads it finds no fault");
    is_str(ledgerlab_facts(&text), "a 1\nb 2\nc 3\nd 4\ne 5\nf 6\n",
           "and all facts in order");
    is_int(vel_ledger_trust(&dir, &text, &err), 0, "and can act on them");
    vel_ledger_text_fini(&text);
    ok(!vel_ledger_is_long(ledger), "it is not long");
    vel_ledger_close(ledger);
    is_int(vel_ledger_load(&dir, (struct vel_ledger_name){1, 1}, &text, &err),
           VEL_ENOENT, "one that nobody has made is not there: %s", err.text);
}

static void grown(void)
{
    enum { MIB = 1 << 20 };
    struct vel_ledger_dir dir = ledgerlab_fresh("grown");
    struct vel_ledger *ledger = ledgerlab_claim(&dir, 1, 0);
    char *fact = malloc(MIB);

    memset(fact, 'a', MIB);
    fact[MIB - 1] = '\n';
    ledgerlab_begin(ledger, &dir, "a 1\n", &err);
    for (int i = 0; i < 3; i++)
        vel_ledger_append(ledger, fact, MIB, &err);
    ok(!vel_ledger_is_long(ledger), "3 MiB are not long");
    vel_ledger_append(ledger, fact, MIB, &err);
    ok(vel_ledger_is_long(ledger), "more than 4 MiB are");
    vel_ledger_close(ledger);
    free(fact);
}

/* A launch that has nothing to carry begins with its claim. */
static void first_begin(void)
{
    struct vel_ledger_dir dir = ledgerlab_fresh("first");
    struct vel_ledger *ledger = NULL;
    struct vel_buf facts;
    struct vel_vec texts;

    dir.has_all = false;
    vel_ledger_close(ledgerlab_claim(&dir, 4, 0));
    vel_buf_init(&facts);
    vel_buf_puts(&facts, "launch 5\n");
    is_int(vel_ledger_claim_first(&dir, 5, &ledgerlab_self, &facts, &ledger, &err), 0,
           "a launch begins with its claim");
    vel_buf_fini(&facts);
    is_int(vel_ledger_tell(ledger, "more\n", 5, &err), 0, "and can tell at once");
    vel_ledger_close(ledger);
    is_int(vel_ledger_read_all(&dir, &texts, &err), 0, "it is read");
    if (texts.n == 1) {
        const struct vel_ledger_text *text = vel_vec_at(&texts, 0);
        const struct vel_ledger_fact *fact = vel_vec_at(&text->facts, 0);

        ok(text->name.launch == 5 && text->floor == 4 && text->facts.n == 2,
           "with what it has said, and its floor");
        ok(fact->line.len == 8 && memcmp(fact->line.text, "launch 5", 8) == 0,
           "which tells its number");
    }
    is_int((long long)texts.n, 1, "and no other has begun");
    vel_ledger_texts_fini(&texts);
}

static void numbers(void)
{
    struct vel_ledger_dir dir = ledgerlab_fresh("numbers");
    struct vel_ledger *ledger = NULL;
    struct vel_vec list;
    const char *none[] = {"x",    "1",   "1.",    "1.x", "01.0",
                          "1.00", "0.1", "1.0.0", "-1.0"};
    char path[600];

    is_int(vel_ledger_list(&dir, &list, &err), 0, "no ledgers are a list");
    vel_vec_fini(&list);
    is_int(vel_ledger_number(&dir, &ledgerlab_self, &ledger, &err), 0,
           "a launch has a number");
    is_int(vel_ledger_name(ledger).launch, 1, "the first one 1");
    vel_ledger_close(ledger);
    vel_ledger_close(ledgerlab_claim(&dir, 7, 3));
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        snprintf(path, sizeof path, "%s/%s", dir.path, none[i]);
        tap_put_file(path, "");
    }
    is_int(vel_ledger_number(&dir, &ledgerlab_self, &ledger, &err), 0,
           "and another one");
    is_int(vel_ledger_name(ledger).launch, 8, "one more than the highest");
    vel_ledger_close(ledger);
    vel_ledger_list(&dir, &list, &err);
    is_int((long long)list.n, 3, "what is no name of a ledger is none");
    ok(vel_ledger_highest(&list, 7) == 3 && vel_ledger_highest(&list, 2) == -1,
       "each launch has a highest term");
    vel_vec_fini(&list);
    dir.path = tap_path("nowhere");
    is_int(vel_ledger_list(&dir, &list, &err), VEL_EIO,
           "of a directory that is not there nothing is known: %s", err.text);
}

/* --- out --- */

static void out(void)
{
    struct vel_ledger_dir dir = ledgerlab_fresh("out");
    struct vel_ledger *ledger = ledgerlab_claim(&dir, 1, 0), *next;
    struct vel_ledger_text text;
    char path[600];

    ledgerlab_begin(ledger, &dir, "a 1\n", &err);
    text = ledgerlab_load(&dir, 1, 0);
    next = ledgerlab_claim(&dir, 1, 1);
    is_int(ledgerlab_tell(ledger, "b 2\n", &err), VEL_ECANCEL,
           "who has been passed by is out: %s", err.text);
    ok(vel_ledger_append(ledger, "c 3\n", 4, &err) == VEL_ECANCEL &&
           vel_ledger_sync(ledger, &err) == VEL_ECANCEL,
       "and writes nothing any more");
    is_int(vel_ledger_trust(&dir, &text, &err), VEL_ECANCEL,
           "who has read it does not act on it: %s", err.text);
    snprintf(path, sizeof path, "%s/1.1", dir.path);
    unlink(path);
    is_int(vel_ledger_look(ledger, &err), VEL_ECANCEL, "it stays so");
    ok(ledgerlab_tell(next, "b 1\n", &err) == VEL_ESTATE &&
           vel_ledger_look(next, &err) == VEL_ESTATE,
       "who has not begun tells nothing: %s", err.text);
    is_int(ledgerlab_begin(next, &dir, "", &err), VEL_ECANCEL,
           "and who finds its name gone is out");
    vel_ledger_close(next);
    vel_ledger_close(ledger);
    vel_ledger_text_fini(&text);

    ledger = ledgerlab_claim(&dir, 2, 0);
    snprintf(path, sizeof path, "%s/2.0", dir.path);
    unlink(path);
    next = ledgerlab_claim(&dir, 2, 0);
    is_int(ledgerlab_begin(ledger, &dir, "a 1\n", &err), VEL_ECANCEL,
           "and whose name is another's: %s", err.text);
    is_int(ledgerlab_begin(next, &dir, "b 1\n", &err), 0, "who is not");
    text = ledgerlab_load(&dir, 2, 0);
    is_str(ledgerlab_facts(&text), "b 1\n", "and has written what is read");
    vel_ledger_text_fini(&text);
    vel_ledger_close(next);
    vel_ledger_close(ledger);
}

/* The n-th operation of a kind fails, once. */
static void fail(struct vel_fs_fault *fault, unsigned kinds, uint64_t at)
{
    const struct vel_fs_fault_plan plan = {
        .mode = VEL_FS_FAULT_ONCE, .kinds = kinds, .at = at};

    vel_fs_fault_arm(fault, &plan);
}

static void failures(void)
{
    struct vel_ledger_dir dir = ledgerlab_fresh("failures");
    struct vel_fs_fault *fault;
    struct vel_ledger *ledger;

    if (vel_fs_fault_create(vel_fs_posix(), NULL, &fault, &err) < 0)
        bail_out("%s", err.text);
    dir.fs = vel_fs_fault_fs(fault);
    dir.is_shared = true;
    ledger = ledgerlab_claim(&dir, 1, 0);
    ledgerlab_begin(ledger, &dir, "", &err);
    fail(fault, VEL_FS_KIND_OPEN, 2);
    is_int(vel_ledger_look(ledger, &err), VEL_EIO, "who cannot look knows nothing: %s",
           err.text);
    is_int(vel_ledger_look(ledger, &err), 0, "and looks again");
    fail(fault, VEL_FS_KIND_WRITE, 1);
    is_int(ledgerlab_tell(ledger, "a 1\n", &err), VEL_EIO, "a write that fails: %s",
           err.text);
    ok(ledgerlab_tell(ledger, "b 1\n", &err) == VEL_ESTATE &&
           vel_ledger_sync(ledger, &err) == VEL_ESTATE,
       "nothing is written behind it: %s", err.text);
    vel_ledger_close(ledger);
    ledger = ledgerlab_claim(&dir, 1, 1);
    ledgerlab_begin(ledger, &dir, "", &err);
    fail(fault, VEL_FS_KIND_SYNC, 1);
    is_int(ledgerlab_tell(ledger, "a 1\n", &err), VEL_EIO, "a sync that fails: %s",
           err.text);
    is_int(ledgerlab_tell(ledger, "b 1\n", &err), VEL_ESTATE, "nor behind that");
    is_int(vel_ledger_look(ledger, &err), VEL_ESTATE,
           "and nobody finds by looking that it was written");
    vel_ledger_close(ledger);
    vel_fs_fault_destroy(fault);
}

/* --- what others do meanwhile --- */

static struct {
    struct vel_fs_ops ops;
    struct vel_fs fs;
    void (*behind)(void); /* once, behind a list; or in the middle of it: */
    bool tears;
    struct vel_ledger_dir dir;
} meddling;

static int meddle(struct vel_fs *fs, const char *path, struct vel_vec *ret)
{
    void (*what)(void) = meddling.behind;
    struct vel_vec later;
    int rc = vel_fs_posix()->ops->list(vel_fs_posix(), path, ret);

    (void)fs;
    meddling.behind = NULL;
    if (rc < 0 || !what)
        return rc;
    what();
    if (!meddling.tears)
        return rc;
    vel_vec_init(&later, sizeof(char *));
    vel_fs_posix()->ops->list(vel_fs_posix(), path, &later);
    for (size_t i = ret->n; i-- > 0;) {
        bool stays = false;

        for (size_t k = 0; k < later.n; k++)
            stays = stays || strcmp(*(char **)vel_vec_at(&later, k),
                                    *(char **)vel_vec_at(ret, i)) == 0;
        if (!stays) {
            free(*(char **)vel_vec_at(ret, i));
            vel_vec_remove(ret, i);
        }
    }
    vel_fs_names_fini(&later);
    return rc;
}

static struct vel_ledger_dir meddled(const char *name)
{
    struct vel_ledger_dir dir = ledgerlab_fresh(name);

    meddling.ops = *vel_fs_posix()->ops;
    meddling.ops.list = meddle;
    meddling.fs.ops = &meddling.ops;
    meddling.dir = dir;
    dir.fs = &meddling.fs;
    return dir;
}

/* The next term of launch 1, which removes what it can; it stays open. */
static struct vel_ledger *go_on(const struct vel_ledger_dir *dir)
{
    struct vel_ledger *ledger = NULL;
    struct vel_carry carry;

    if (vel_ledger_next(dir, 1, &ledgerlab_self, &ledger, &err) < 0)
        bail_out("%s", err.text);
    vel_carry_init(&carry, dir, vel_ledger_name(ledger));
    if (vel_carry_own(&carry, &err) < 0 ||
        vel_ledger_begin(ledger, &carry, "old 1\n", 6, &err) < 0 ||
        vel_carry_remove(&carry, &err) < 0)
        bail_out("%s", err.text);
    vel_carry_fini(&carry);
    return ledger;
}

static void go_on_twice(void)
{
    vel_ledger_close(go_on(&meddling.dir));
    vel_ledger_close(go_on(&meddling.dir));
}

static void be_first(void)
{
    struct vel_ledger *ledger = ledgerlab_claim(&meddling.dir, 1, 0);

    ledgerlab_begin(ledger, &meddling.dir, "old 1\n", &err);
    vel_ledger_close(ledger);
    go_on_twice();
    vel_ledger_close(go_on(&meddling.dir));
}

static void meanwhile(void)
{
    struct vel_ledger_dir dir = meddled("number");
    struct vel_ledger *ledger = NULL, *other;
    struct vel_carry carry;
    struct vel_vec texts;

    meddling.behind = be_first;
    is_int(vel_ledger_number(&dir, &ledgerlab_self, &ledger, &err), 0,
           "a launch takes a number");
    is_int(vel_ledger_name(ledger).launch, 2,
           "not one that was used, of which the first name is gone by now");
    vel_ledger_close(ledger);

    dir = meddled("floor");
    ledger = ledgerlab_claim(&dir, 1, 0);
    ledgerlab_begin(ledger, &dir, "old 1\n", &err);
    vel_ledger_close(ledger);
    vel_ledger_close(go_on(&dir));
    vel_ledger_number(&dir, &ledgerlab_self, &ledger, &err);
    vel_carry_init(&carry, &dir, vel_ledger_name(ledger));
    meddling.tears = true;
    meddling.behind = go_on_twice;
    is_int(vel_ledger_begin(ledger, &carry, "", 0, &err), 0,
           "a launch begins while another one changes its chair");
    meddling.behind = NULL;
    vel_carry_fini(&carry);
    vel_ledger_close(ledger);
    other = go_on(&dir);
    is_int(ledgerlab_tell(other, "told 2\n", &err), 0, "which goes on");
    vel_ledger_close(other);
    meddling.behind = go_on_twice;
    is_int(vel_ledger_read_all(&dir, &texts, &err), 0,
           "and is read while it does so again");
    is_int((long long)texts.n, 2, "both are there");
    vel_ledger_texts_fini(&texts);
    meddling.tears = false;
}

int main(void)
{
    int fds = tap_open_fds();

    fields();
    lines();
    joined();
    written();
    grown();
    numbers();
    first_begin();
    out();
    failures();
    meanwhile();
    is_int(tap_open_fds(), fds, "no descriptor is left open");
    return done_testing();
}
