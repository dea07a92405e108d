/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of an information string, as text. HDF5 is not asked for anything. */
#ifndef VEL_VOL_INFO_TEXT_H
#define VEL_VOL_INFO_TEXT_H

struct vel_info_text {
    char *config;  /* NULL: not given */
    char *dataset; /* what a line of settings has behind DATASET=; NULL: not given */
    enum vel_info_word { VEL_INFO_TOLD, VEL_INFO_BEHIND, VEL_INFO_LIVE } word;
    int under_value;  /* 0, HDF5's own, if not given */
    char *under_info; /* NULL: not given */
};

/* `*ret_why` is a sentence without its subject when -1 is returned; 0 else. An empty
 * string has no parts. */
int vel_info_text_parse(const char *str, struct vel_info_text *ret,
                        const char **ret_why);
void vel_info_text_fini(struct vel_info_text *text);

#endif
