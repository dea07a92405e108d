/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>

#include "cmd/scrub.h"
#include "cmd/tool.h"
#include "recover/scrub.h"

static const char *const words[] = {
    [VEL_SCRUB_REPAIRED] = "repaired", [VEL_SCRUB_LOST] = "not repairable"};

static const char *word_of(const struct vel_scrub_finding *finding,
                           const struct vel_cmd_scrub *how)
{
    return finding->result == VEL_SCRUB_REPAIRED && how->dry_run
               ? "can be repaired"
               : words[finding->result];
}

static void print_text(const struct vel_scrubbed *done, const struct vel_cmd_scrub *how)
{
    const struct vel_scrub_finding *f = done->findings.items;

    for (size_t i = 0; i < done->findings.n; i++)
        printf("%s: %s: %s%s%s\n", word_of(&f[i], how), f[i].what, f[i].why,
               f[i].where[0] ? "; good copy: " : "", f[i].where);
    if (!how->quiet)
        printf("%zu dataset%s checked, %zu damage%s found\n", done->datasets,
               done->datasets == 1 ? "" : "s", done->findings.n,
               done->findings.n == 1 ? "" : "s");
}

static void print_json(const struct vel_scrubbed *done, const struct vel_cmd_scrub *how)
{
    const struct vel_scrub_finding *f = done->findings.items;
    json_t *findings = json_array();

    for (size_t i = 0; i < done->findings.n; i++)
        json_array_append_new(findings,
                              json_pack("{s:s, s:s, s:s, s:s}", "result",
                                        word_of(&f[i], how), "what", f[i].what, "why",
                                        f[i].why, "from", f[i].where));
    vel_tool_print_json(json_pack("{s:I, s:o}", "datasets", (json_int_t)done->datasets,
                                  "findings", findings));
}

int vel_cmd_scrub(char *const *dirs, size_t n_dirs, const struct vel_cmd_scrub *how)
{
    struct vel_scrub_options options = {.dry_run = how->dry_run};
    struct vel_scrubbed done;
    struct vel_err err = {0};
    int code = VEL_EXIT_DONE;

    if (vel_scrub(vel_fs_posix(), dirs, n_dirs, &options, &done, &err) < 0)
        vel_tool_die(VEL_EXIT_FAILED, "%s", err.text);
    for (size_t i = 0; i < done.findings.n; i++)
        if (((struct vel_scrub_finding *)vel_vec_at(&done.findings, i))->result ==
            VEL_SCRUB_LOST)
            code = VEL_EXIT_FAILED;
    if (how->json)
        print_json(&done, how);
    else
        print_text(&done, how);
    vel_scrubbed_fini(&done);
    return vel_tool_finish(code);
}
