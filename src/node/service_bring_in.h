/* SPDX-License-Identifier: BSD-3-Clause */
/* service_bring_in - what the files of a leader share that bring parts and files here
 * from other nodes, or look for them there. */
#ifndef VEL_NODE_SERVICE_BRING_IN_H
#define VEL_NODE_SERVICE_BRING_IN_H

#include "node/service_in.h"

/* --- service_pull: parts come here; on a worker --- */

/* Of a dataset of the job's view: every byte is compared with its checksum, once in
 * this launch, and what is not as it was is replaced. */
int vel_service_pull(struct vel_service_job *job,
                     const struct vel_view_dataset *dataset, int rank,
                     const struct vel_watch *watch, struct vel_pulled *ret,
                     struct vel_err *err);
/* A flush has failed by what lies here: the parts of the job's dataset that belong here
 * are compared again, and made again from their sets; meanwhile others wait who pull
 * them, so `watch` must do no other job. 1: they are as they were, whoever has made
 * them again; else what *why says then. VEL_ECORRUPT: nothing can make it again, to try
 * once more is of no use. */
int vel_service_mend(struct vel_service_job *job, const struct vel_watch *watch,
                     struct vel_err *why);

/* --- service_beside, service_copies: files that others have; on a worker --- */

/* Where is the file that is to replace what stands at `name`, in the caches of a launch
 * (of this one: of other nodes)? READ: it is brought here if need be. VEL_ENOENT:
 * nobody has it, or a newer one than dataset `than` has (0: of any; INT64_MAX: which is
 * of no dataset yet). VEL_EBUSY: that cannot be done now. */
int vel_service_beside(struct vel_service *service, const char *launch,
                       const char *name, int64_t than, enum vel_beside how,
                       const struct vel_watch *watch, struct vel_service_place *ret,
                       struct vel_err *err);

/* A rank of this node closes a file that another node may have closed before: none does
 * without knowing it. */
int vel_service_claim(struct vel_service *service, const char *name,
                      struct vel_err *err);

/* The giving side, by the loop: of `want` 2 and 4; the answer's bytes or text are in
 * `room`.
 */
void vel_service_tell_where(struct vel_service *service, const struct vel_msg *want,
                            void *room, struct vel_msg *ret);

/* A copy of what was found, at *ret_path. */
int vel_service_copy(struct vel_service *service, const char *name,
                     const struct vel_service_found *from,
                     struct vel_pull_source *source, const struct vel_watch *watch,
                     char **ret_path, struct vel_err *err);
/* Those of this launch, which ends; those of launches that are over. */
void vel_service_forget_copies(struct vel_service *service);
void vel_service_forget_old_copies(struct vel_service *service);

/* --- service_renew: on a worker, or while somebody is told --- */

/* A file of dataset `id` follows what is now at its name, if that is an older version.
 */
void vel_service_renew(struct vel_service *service, int64_t id,
                       const struct vel_placeholder_file *of);
/* Has a dataset between two ids put its file of this name at `path`? */
bool vel_service_has_put(struct vel_service *service, int64_t above, int64_t below,
                         const char *name, const char *path);
/* The older version of a dataset's file that stands at `path` was touched, and is
 * otherwise as it was: then it is that which the file replaces. False: it is not. */
bool vel_service_renew_touched(struct vel_service *service, int64_t id,
                               const struct vel_placeholder_file *of, const char *path);

/* The newest file here that was to be at `path`; false: there is none. */
bool vel_service_renew_at(struct vel_service *service, const char *path);

#endif
