/* SPDX-License-Identifier: BSD-3-Clause */
/* tags - which message tags belong to whom.
 *
 * Users have the tags below VEL_TAG_USER_END. The collectives have those behind, one
 * for each use: messages between two members keep their order, so the same tag may
 * serve the next collective of the same kind.
 */
#ifndef VEL_COMM_TAGS_H
#define VEL_COMM_TAGS_H

enum vel_comm_tag {
    VEL_TAG_USER_END = 1 << 20,
    VEL_TAG_BARRIER = VEL_TAG_USER_END,
    VEL_TAG_FOLD,
    VEL_TAG_BCAST,
    VEL_TAG_GATHER,
    VEL_TAG_AGREE,
    VEL_TAG_EXCHANGE,
    VEL_TAG_SPLIT,
    VEL_TAG_END
};

#endif
