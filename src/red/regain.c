/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "red/regain.h"

static int copy_list(const struct vel_manifest *from, struct vel_manifest *to,
                     struct vel_err *err)
{
    size_t len = vel_manifest_encoded_size(from);
    struct vel_le_writer w;
    struct vel_le_reader reader;
    struct vel_manifest copy;
    uint8_t *bytes = malloc(len);
    int rc;

    if (!bytes)
        return vel_out_of_memory(err, "copying a list of files");
    vel_le_write_init(&w, bytes, len);
    vel_manifest_encode(from, &w);
    vel_le_read_init(&reader, bytes, len);
    rc = vel_manifest_decode(&reader, &copy, err);
    free(bytes);
    if (rc < 0)
        return rc;
    vel_manifest_fini(to);
    *to = copy;
    return 0;
}

/* the list of member `of`, from the first of those who keep it */
static const struct vel_manifest *find_list(const struct vel_red_header *const *others,
                                            size_t of, size_t n, size_t lists)
{
    for (size_t i = 0; i < lists; i++) {
        const struct vel_red_header *header = others[(of + i) % n];

        if (header)
            return &header->list[i];
    }
    return NULL;
}

int vel_red_regain(const struct vel_red_header *model,
                   const struct vel_red_header *const *others, size_t me,
                   struct vel_red_header *ret, struct vel_err *err)
{
    const struct vel_layout *from = &model->layout;
    struct vel_red_header header;
    struct vel_layout layout;
    int rc =
        vel_layout_init(&layout, from->scheme, from->n, from->m, from->lofi_size, err);

    if (rc == 0)
        rc = vel_red_header_init(&header, &layout, (uint32_t)me, err);
    if (rc < 0)
        return rc;
    memcpy(header.id, model->id, sizeof model->id);
    header.sequence = model->sequence;
    header.set = model->set;
    header.sets = model->sets;
    for (size_t i = 0; rc == 0 && i < header.lists; i++) {
        size_t of = (me + from->n - i) % from->n;
        const struct vel_manifest *list = find_list(others, of, from->n, header.lists);

        rc = list ? copy_list(list, &header.list[i], err)
                  : vel_fail(err, VEL_ECORRUPT,
                             "nobody is left who lists the files of member %zu", of);
    }
    if (rc < 0)
        vel_red_header_fini(&header);
    else
        *ret = header;
    return rc;
}
