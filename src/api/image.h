/* SPDX-License-Identifier: BSD-3-Clause */
/* image - the checkpoint image of one process: its protected regions in a file
 * (doc/format-mem.txt).
 *
 * Regions go from the program's memory to the file and back without a second copy.
 * Nothing here is collective, nothing is synced, and no image is used by two threads at
 * once.
 */
#ifndef VEL_API_IMAGE_H
#define VEL_API_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/regions.h"
#include "api/selection.h"
#include "base/err.h"
#include "sys/fs.h"

/* Writing: create, append any number of times, commit, destroy. */
struct vel_image_writer;

/* Begin an image at `path`, in place of any file of that name; the directory is there.
 * With has_crc every region gets a checksum, which a reader checks. The file system is
 * borrowed, the path copied. */
int vel_image_create(struct vel_fs *fs, const char *path, bool has_crc,
                     struct vel_image_writer **ret_writer, struct vel_err *err);

/* Write the selected regions of the list as their memory is now. A region that an
 * earlier call has written is replaced. VEL_ENOENT when the selection names a region
 * that the list does not have: then nothing has been written, and others may still be.
 * After any other failure the image cannot be committed. Regions need not be protected
 * any more once the call is back. */
int vel_image_append(struct vel_image_writer *writer,
                     const struct vel_region_list *list,
                     const struct vel_selection *selection, struct vel_err *err);

/* Make the file an image and close it. Without any region it is an empty image.
 * VEL_ESTATE after an append that failed. Call it once. */
int vel_image_commit(struct vel_image_writer *writer, struct vel_err *err);

/* Where it is, and size and checksum of the whole file, when they are known without
 * reading it: of a committed image with has_crc whose regions were each written once,
 * or again with the same size. */
const char *vel_image_writer_path(const struct vel_image_writer *writer);
bool vel_image_sum(const struct vel_image_writer *writer, uint64_t *ret_size,
                   uint32_t *ret_crc);

/* NULL is nothing. A file that was not committed is removed. */
void vel_image_destroy(struct vel_image_writer *writer);

/* Reading: open, ask and read, close. */
struct vel_image;

/* VEL_ENOENT: no such file; VEL_ECORRUPT: cut short, damaged, never finished or nothing
 * of ours; VEL_EUNSUP: written by a newer h5veloc; VEL_EINVAL: no regular file. The
 * bytes of the regions are not looked at yet. */
int vel_image_open(struct vel_fs *fs, const char *path, struct vel_image **ret_image,
                   struct vel_err *err);

/* NULL is nothing. */
void vel_image_close(struct vel_image *image);

/* How many bytes of this region were saved: what VELOC_Recover_size tells. VEL_ENOENT
 * when the image does not have it. */
int vel_image_size_of(const struct vel_image *image, int id, uint64_t *ret_bytes,
                      struct vel_err *err);

/* Read the selected regions of the image into the memory that the list has for their
 * ids. A region of the list may be larger than the saved one, whose bytes it then
 * begins with; what the list has and the image has not, stays as it is.
 *
 * Found before any memory is touched: VEL_ENOENT, when SOME names an id that was not
 * saved, REST one that is neither saved nor in the list, or a selected region is not in
 * the list; VEL_EINVAL, when a region of the list is smaller than the saved one, whose
 * sentence tells both sizes. Found while reading: VEL_ECORRUPT, when bytes are not
 * those that were written, and failures of the file system. The memory of all selected
 * regions may be partly overwritten then, as the sentence says: it is to be used no
 * more. */
int vel_image_read(struct vel_image *image, const struct vel_region_list *list,
                   const struct vel_selection *selection, struct vel_err *err);

#endif
