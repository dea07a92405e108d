/* SPDX-License-Identifier: BSD-3-Clause */
/* A ledger of which something is cut off, or another byte is there: what is whole of it
 * is read, what is lost is told, and nothing is ever there that nobody has written. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/ledger_in.h"
#include "tap/files.h"
#include "tap/ledgerlab.h"
#include "tap/tap.h"

static struct vel_err err;

static const char *const in_begin[] = {"a 1\n", "bb 22\n", "c 3\n"};
static const char *const behind[] = {"dd 44\n", "e 5\n"};

/* A chain whose second term comes from the first: its bytes. */
static char *make_chain(const struct vel_ledger_dir *dir, size_t *ret_len)
{
    struct vel_ledger *first = ledgerlab_claim(dir, 3, 0), *second;
    struct vel_carry carry;
    char facts[100] = "";

    ledgerlab_begin(first, dir, "old 1\n", &err);
    vel_ledger_close(first);
    second = ledgerlab_claim(dir, 3, 1);
    vel_carry_init(&carry, dir, vel_ledger_name(second));
    for (size_t i = 0; i < 3; i++)
        strcat(facts, in_begin[i]);
    if (vel_carry_own(&carry, &err) < 0 ||
        vel_ledger_begin(second, &carry, facts, strlen(facts), &err) < 0)
        bail_out("%s", err.text);
    vel_carry_fini(&carry);
    ledgerlab_tell(second, behind[0], &err);
    ledgerlab_tell(second, behind[1], &err);
    vel_ledger_close(second);
    return tap_get_file(tap_path("damage/3.1"), ret_len);
}

static struct vel_ledger_text decode(const struct vel_ledger_dir *dir,
                                     const char *bytes, size_t len, int *ret_rc)
{
    struct vel_ledger_text text = {0};
    struct vel_buf buf;

    vel_buf_init(&buf);
    vel_buf_append(&buf, bytes, len);
    *ret_rc = vel_ledger_decode(dir, (struct vel_ledger_name){3, 1}, &buf, &text, NULL);
    vel_buf_fini(&buf);
    return text;
}

/* Cut off anywhere it has what is whole, and no begin before that is. */
static void cut(const struct vel_ledger_dir *dir, const char *bytes, size_t len)
{
    size_t title = (size_t)(strchr(bytes, '\n') - bytes) + 1, begun = len + 1,
           wrong = 0;

    for (size_t n = 0; n <= len; n++) {
        int rc;
        struct vel_ledger_text text = decode(dir, bytes, n, &rc);
        const char *facts = ledgerlab_facts(&text),
                   *all = "a 1\nbb 22\nc 3\ndd 44\ne 5\n";

        if (n < title) {
            wrong += rc != VEL_ECORRUPT;
            continue;
        }
        if (text.has_begin && begun > len)
            begun = n;
        wrong += rc < 0 || text.wrong || text.has_begin != (n >= begun) ||
                 strncmp(facts, all, strlen(facts)) != 0 ||
                 (text.has_begin && strncmp(facts, "a 1\nbb 22\nc 3\n", 14) != 0);
        vel_ledger_text_fini(&text);
    }
    is_int((long long)wrong, 0, "cut off anywhere a ledger has what is whole of it");
    ok(bytes[begun - 1] == '\n' && strncmp(bytes + begun + 9, "dd 44\n", 6) == 0,
       "and begins with its tail");
}

/* Is each fact one that was written, and none of these missing but `lost`? */
static bool has_all_but(const char *facts, size_t lost_in_begin, size_t lost_behind,
                        bool with_old)
{
    size_t missing = 0, missing_behind = 0;

    for (size_t i = 0; i < 3; i++)
        missing += strstr(facts, in_begin[i]) == NULL;
    for (size_t i = 0; i < 2; i++)
        missing_behind += strstr(facts, behind[i]) == NULL;
    return missing <= lost_in_begin && missing_behind <= lost_behind &&
           (strstr(facts, "old 1\n") != NULL) == (with_old && missing > 0);
}

/* One byte is another: at most the facts of two lines are missing, and if they are of
 * the begin what that came from is there. */
static void changed(const struct vel_ledger_dir *dir, char *bytes, size_t len)
{
    static const char values[] = {'\n', ' ', '0', '\0', '\xff'};
    size_t title = (size_t)(strchr(bytes, '\n') - bytes) + 1, wrong = 0, blind = 0;
    size_t last = (size_t)(strstr(bytes, behind[1]) - bytes) - VEL_LINE_MORE;

    for (size_t i = 0; i < len; i++) {
        for (size_t k = 0; k < sizeof values; k++) {
            char was = bytes[i];
            struct vel_ledger_text text;
            int rc;

            if (was == values[k])
                continue;
            bytes[i] = values[k];
            text = decode(dir, bytes, len, &rc);
            bytes[i] = was;
            if (i < title) {
                wrong += rc != VEL_ECORRUPT;
                continue;
            }
            blind += text.wrong == 0 && i + 1 < last;
            wrong += rc < 0 || !text.has_begin || text.is_lossy ||
                     !has_all_but(ledgerlab_facts(&text), 2, 2, true);
            vel_ledger_text_fini(&text);
        }
    }
    is_int((long long)wrong, 0,
           "a byte that changes costs the facts of its lines, and "
           "in the begin what that comes from is read");
    is_int((long long)blind, 0, "and is told, but in the last line");
}

static void damaged(void)
{
    struct vel_ledger_dir dir = ledgerlab_fresh("damage");
    size_t len;
    char *bytes = make_chain(&dir, &len), *fact;
    struct vel_ledger_text text;
    int rc;

    cut(&dir, bytes, len);
    changed(&dir, bytes, len);
    unlink(tap_path("damage/3.0"));
    fact = strstr(bytes, "bb 22");
    *fact = 'x';
    text = decode(&dir, bytes, len, &rc);
    ok(rc == 0 && text.is_lossy && text.wrong == 1,
       "what a begin comes from is gone: it is told that a fact is lost");
    is_str(ledgerlab_facts(&text), "a 1\nc 3\ndd 44\ne 5\n", "the others are there");
    vel_ledger_text_fini(&text);
    free(bytes);
    tap_put_file(tap_path("damage/3.2"), "");
    is_int(vel_ledger_load(&dir, (struct vel_ledger_name){3, 2}, &text, &err),
           VEL_ECORRUPT, "a file without a title is not passed over: %s", err.text);
    unlink(tap_path("damage/3.2"));
    if (symlink("nowhere", tap_path("damage/3.2")) < 0)
        bail_out("no link");
    is_int(vel_ledger_load(&dir, (struct vel_ledger_name){3, 2}, &text, &err),
           VEL_ECORRUPT, "nor is a link: %s", err.text);
}

/* Begins of no and of one fact lie in one sector with their tails: one byte can cost
 * both. Then nobody takes it for a ledger without a begin. */
static void small_begins(void)
{
    static const char *const facts[] = {"", "a 1\n"};
    struct vel_ledger_dir dir = ledgerlab_fresh("small");
    size_t wrong = 0, told = 0;

    for (int k = 0; k < 2; k++) {
        struct vel_ledger *ledger = ledgerlab_claim(&dir, 3, k);
        char path[600], *bytes;
        size_t len, i;

        ledgerlab_begin(ledger, &dir, facts[k], &err);
        ledgerlab_tell(ledger, "dd 44\n", &err);
        ledgerlab_tell(ledger, "e 5\n", &err);
        vel_ledger_close(ledger);
        snprintf(path, sizeof path, "%s/3.%d", dir.path, k);
        bytes = tap_get_file(path, &len);
        for (i = (size_t)(strstr(bytes, "begin") - bytes) - VEL_LINE_MORE; i < len;
             i++) {
            char was = bytes[i];
            struct vel_ledger_text text;
            int rc;

            bytes[i] = was == 'x' ? 'y' : 'x';
            tap_put_bytes(path, bytes, len);
            bytes[i] = was;
            rc = vel_ledger_load(&dir, (struct vel_ledger_name){3, k}, &text, &err);
            told += rc == VEL_ECORRUPT;
            wrong +=
                rc < 0 ? rc != VEL_ECORRUPT
                       : !text.has_begin ||
                             (was != '\n' && !strstr(ledgerlab_facts(&text), "dd 44") &&
                              !strstr(ledgerlab_facts(&text), "e 5"));
            if (rc == 0)
                vel_ledger_text_fini(&text);
        }
        free(bytes);
    }
    is_int((long long)wrong, 0, "a small begin that is damaged is told, or read");
    ok(told > 0, "%zu times nobody can say where it ends", told);
}

int main(void)
{
    int fds = tap_open_fds();

    damaged();
    small_begins();
    is_int(tap_open_fds(), fds, "no descriptor is left open");
    return done_testing();
}
