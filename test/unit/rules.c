/* SPDX-License-Identifier: BSD-3-Clause */
/* Which DATASET line a file belongs to. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/file.h"
#include "conf/rules.h"
#include "tap/tap.h"

static struct vel_conf *parse(const char *text, struct vel_err *err)
{
    struct vel_conf *conf;

    if (vel_conf_create(&conf, err) < 0)
        bail_out("%s", err->text);
    if (vel_conf_parse(conf, VEL_LAYER_USER, "t.conf", text, strlen(text), NULL, NULL,
                       err) < 0 ||
        vel_conf_finish(conf, err) < 0) {
        vel_conf_destroy(conf);
        return NULL;
    }
    return conf;
}

/* What a pattern makes of a name: "STEP", with " rank" behind it; "-": it does not fit.
 */
static const char *fit(const char *pattern, const char *path)
{
    static char text[128];
    struct vel_rule_fit got;
    struct vel_err err = {0};
    struct vel_conf *conf;
    char line[700];

    snprintf(line, sizeof line, "DATASET=a PATTERN=%s\n", pattern);
    conf = parse(line, &err);
    if (!conf)
        return "bad";
    if (vel_rules_find(conf, "/p", path, &got))
        snprintf(text, sizeof text, "%s%s", got.step, got.has_rank ? " rank" : "");
    else
        snprintf(text, sizeof text, "-");
    vel_conf_destroy(conf);
    return text;
}

static void numbers(void)
{
    static const struct {
        const char *pattern, *path, *want, *what;
    } cases[] = {
        {"ck.{step}/part-{rank}.h5", "/p/ck.0012/part-3.h5", "0012 rank",
         "a step keeps its digits"},
        {"ck.{step}/part-{rank}.h5", "/p/ck./part-3.h5", "-", "no digits, no number"},
        {"ck.{step}/part-{rank}.h5", "/p/ck.1/part-3.h5x", "-", "all of the name"},
        {"ck.{step}/part-{rank}.h5", "/q/ck.1/part-3.h5", "-",
         "a file outside of the prefix"},
        {"/q/ck.{step}.h5", "/q/ck.7.h5", "7", "unless the pattern begins with /"},
        {"./ck.{step}.h5", "/p/ck.7.h5", "7", "./ is where it begins anyhow"},
        {"/p/ck.{step}.h5", "/p/ck.7.h5", "7", "which may lead into the prefix"},
        {"{step}/x{step}.h5", "/p/7/x7.h5", "7", "a second step is the first one"},
        {"{step}/x{step}.h5", "/p/7/x8.h5", "-", "and no other number"},
        {"{step}/x{step}.h5", "/p/7/x70.h5", "-", "nor a longer one"},
        {"a{rank}0.h5", "/p/a10.h5", "-", "a number is all digits that stand there"},
        {"out/*.h5", "/p/out/a/b.h5", "", "* takes slashes"},
        {"*{rank}.h5", "/p/out/p3-12.h5", " rank", "* gives way to a number"},
        {"*-{step}-*.h5", "/p/a-b-1-2-c.h5", "1", "the first number that fits"},
        {"a*b*c", "/p/abbbcbcc", "", "two * share a text"},
        {"a*b*c", "/p/abbbcbcd", "-", "or do not"},
        {"*", "/p/x", "", "* alone is everything"},
        {"*", "/p", "-", "but not the prefix itself"},
        {"a?.h5", "/p/ab.h5", "-", "other characters are themselves"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        is_str(fit(cases[i].pattern, cases[i].path), cases[i].want, "%s",
               cases[i].what);
    char path[128] = "/p/ck.";
    memset(path + 6, '1', VEL_RULE_STEP);
    ok(strlen(fit("ck.{step}", path)) == VEL_RULE_STEP, "a step may have %d digits",
       VEL_RULE_STEP);
    path[6 + VEL_RULE_STEP] = '1';
    is_str(fit("ck.{step}", path), "-", "and no more");
}

static void lines(void)
{
    struct vel_err err = {0};
    struct vel_rule_fit got = {0};
    struct vel_conf *conf = parse("DATASET=special PATTERN=ck.100.h5 KIND=OUTPUT\n"
                                  "DATASET=ck PATTERN=ck.*.h5 EXCLUDE=ck.no* KEEP=4\n"
                                  "DATASET=rest PATTERN=*.h5 KIND=NONE\n",
                                  &err);

    if (!conf)
        bail_out("%s", err.text);
    ok(vel_rules_find(conf, "/p", "/p/ck.100.h5", &got) &&
           strcmp(got.line->name, "special") == 0 && got.rule->kind == VEL_KIND_OUTPUT,
       "the first line that fits wins");
    ok(vel_rules_find(conf, "/p", "/p/ck.101.h5", &got) &&
           strcmp(got.line->name, "ck") == 0 && got.rule->keep == 4,
       "what it does not fit is for the next");
    ok(vel_rules_find(conf, "/p", "/p/ck.not.h5", &got) &&
           strcmp(got.line->name, "rest") == 0,
       "and what it excludes");
    ok(!vel_rules_find(conf, "/p", "/p/ck.101.nc", &got) &&
           strcmp(got.line->name, "rest") == 0,
       "a file that no line fits is nobody's");
    vel_conf_destroy(conf);
}

/* Paths of files have no links. */
/* What the files of all ranks and steps have in common. */
static void shape(const char *pattern, const char *path, const char *want)
{
    struct vel_err err = {0};
    struct vel_conf *conf;
    struct vel_buf got;
    char line[256];

    snprintf(line, sizeof line, "DATASET=a PATTERN=%s\n", pattern);
    conf = parse(line, &err);
    if (!conf)
        bail_out("%s", err.text);
    vel_buf_init(&got);
    if (!vel_rules_shape(conf, "/p", path, &got))
        vel_buf_puts(&got, "-");
    is_str(vel_buf_text(&got), want, "what %s of %s has in common with others", path,
           pattern);
    vel_buf_fini(&got);
    vel_conf_destroy(conf);
}

static void shapes(void)
{
    shape("ck.{step}.{rank}.h5", "/p/ck.12.3.h5", "/p/ck.{step}.{rank}.h5");
    shape("run*/{rank}/ck.{step}.{rank}.h5", "/p/run07/4/ck.1.4.h5",
          "/p/run07/{rank}/ck.{step}.{rank}.h5");
    shape("*.{rank}.h5", "/p/a.1.2.h5", "/p/a.1.{rank}.h5");
    shape("ck.{step}.h5", "/p/ck.1.h5", "-");
    shape("ck.{rank}.h5", "/p/other", "-");
}

static void links(void)
{
    char pattern[600], path[600];

    if (mkdir(tap_path("real"), 0700) < 0 || symlink("real", tap_path("link")) < 0)
        bail_out("no link");
    snprintf(pattern, sizeof pattern, "%s/ck.{step}.h5", tap_path("link"));
    snprintf(path, sizeof path, "%s/ck.8.h5", tap_path("real"));
    is_str(fit(pattern, path), "8", "a whole pattern may lead through a link");
    snprintf(pattern, sizeof pattern, "%s/*", tap_path("nowhere"));
    is_str(fit(pattern, path), "-", "or to nowhere");
}

static void mistakes(void)
{
    struct vel_err err = {0};
    static const char *const bad[] = {"PATTERN=ck.{stpe}.h5",
                                      "PATTERN=ck.{step",
                                      "PATTERN=a{b{c{d{e{f{g{h{i{j{k{l{m{n{o{p{q{r",
                                      "PATTERN=* EXCLUDE={ranks}",
                                      "PATTERN=* PUBLISH=LIVE KEEP=2",
                                      "PATTERN=* PUBLISH=LIVE POINTS=1",
                                      "PATTERN=* PUBLISH=LIVE LEVEL=0",
                                      "PATTERN=* PUBLISH=LIVE KIND=CHECKPOINT"};
    char line[128];

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        snprintf(line, sizeof line, "DATASET=a %s\n", bad[i]);
        ok(!parse(line, &err), "%s is refused", bad[i]);
        note("%s", err.text);
    }
    ok(!parse("DATASET=a PATTERN=ck.{stpe}.h5\n", &err) &&
           strstr(err.text, "t.conf:1: DATASET=a") && strstr(err.text, "{step}"),
       "with its place, and what was meant");
}

int main(void)
{
    numbers();
    lines();
    shapes();
    links();
    mistakes();
    return done_testing();
}
