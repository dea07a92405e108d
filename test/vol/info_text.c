/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "info_text.h"
#include "tap/tap.h"

static bool is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void good(const char *str, const char *config, int value, const char *info)
{
    struct vel_info_text text = {0};
    const char *why = "";

    ok(vel_info_text_parse(str, &text, &why) == 0 && is_same(text.config, config) &&
           text.under_value == value && is_same(text.under_info, info),
       "'%s' has its parts", str);
    vel_info_text_fini(&text);
}

static void says(const char *str, enum vel_info_word word, const char *dataset)
{
    struct vel_info_text text = {0};
    const char *why = "";

    ok(vel_info_text_parse(str, &text, &why) == 0 && text.word == word &&
           is_same(text.dataset, dataset),
       "'%s' has its parts", str);
    vel_info_text_fini(&text);
}

static void bad(const char *str, const char *want)
{
    struct vel_info_text text = {.under_value = -7};
    const char *why = "";

    ok(vel_info_text_parse(str, &text, &why) < 0 && text.under_value == -7 &&
           strstr(why, want),
       "'%s': %s", str, want);
}

int main(void)
{
    good("", NULL, 0, NULL);
    good(" ;; ", NULL, 0, NULL);
    good("under_vol=0;under_info={}", NULL, 0, NULL);
    good("config=/etc/v.conf", "/etc/v.conf", 0, NULL);
    good("config=", NULL, 0, NULL);
    good("under_info={under_vol=0;under_info={}};under_vol=517;config=a b=c", "a b=c",
         517, "under_vol=0;under_info={}");
    good("config={x;y};under_vol=1", "{x;y}", 1, NULL);
    good(" under_vol=65535 ", NULL, 65535, NULL);
    says("behind", VEL_INFO_BEHIND, NULL);
    says(" live ;", VEL_INFO_LIVE, NULL);
    says("config=x;dataset=a PATTERN=a.{step}.h5 KEEP=2; behind", VEL_INFO_BEHIND,
         "a PATTERN=a.{step}.h5 KEEP=2");
    says("dataset=", VEL_INFO_TOLD, NULL);
    bad("behind;behind", "a part twice");
    bad("live;behind", "either behind or live");
    bad("behindhand", "none of behind");
    bad("behind=1", "none of behind");
    bad("under_vol=", "not the number");
    bad("under_vol=-1", "not the number");
    bad("under_vol=0x10", "not the number");
    bad("under_vol=99999999999999999999", "not the number");
    bad("under_info=x", "not in braces");
    bad("under_info={", "a brace has no other");
    bad("under_info=}", "a brace has no other");
    bad("under_info={}}", "a brace has no other");
    bad("config=a;config=b", "a part twice");
    bad("under_vol=0;under_vol=0", "a part twice");
    bad("nonsense", "none of behind, live, config=");
    bad("config=a;b", "none of behind, live, config=");
    return done_testing();
}
