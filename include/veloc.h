/* SPDX-License-Identifier: BSD-3-Clause */
/* veloc.h - the VELOC C API of h5veloc. The functions of today's VELOC have their
 * names, arguments and results; those behind "more than VELOC has" are ours.
 *
 * Every function returns VELOC_SUCCESS or VELOC_FAILURE unless it says otherwise, and
 * VELOC_Error() tells why. Functions are collective over the communicator of VELOC_Init
 * unless they are said to be local. They are called by one thread at a time.
 */
#ifndef VELOC_H
#define VELOC_H

#include <stddef.h>
#include <string.h>

#include <mpi.h>

#define VELOC_VERSION_MAJOR 0
#define VELOC_VERSION_MINOR 1
#define VELOC_VERSION_PATCH 0
#define VELOC_VERSION "0.1.0"

/* Room for any name, path or text that the library returns. */
#define VELOC_MAX_NAME 1024

#define VELOC_SUCCESS 0
#define VELOC_FAILURE (-1)
#define VELOC_ERROR VELOC_FAILURE

/* which regions: all, those of the ids, or all others */
#define VELOC_CKPT_ALL 0
#define VELOC_CKPT_SOME 1
#define VELOC_CKPT_REST 2
#define VELOC_RECOVER_ALL VELOC_CKPT_ALL
#define VELOC_RECOVER_SOME VELOC_CKPT_SOME
#define VELOC_RECOVER_REST VELOC_CKPT_REST

#ifdef __cplusplus
extern "C" {
#endif

/* --- begin and end --- */

/* Read the settings (cfg_file may be NULL), and bring back what earlier runs left. May
 * be called again after VELOC_Finalize. */
int VELOC_Init(MPI_Comm comm, const char *cfg_file);

/* The same for a process that checkpoints by itself; id tells it from the others, in
 * this run and in those to come. Needs no MPI. */
int VELOC_Init_single(unsigned int id, const char *cfg_file);

/* Flush what is owed, and end. With cleanup 0 nothing more is flushed: what is in the
 * caches stays there for the next run. */
int VELOC_Finalize(int cleanup);

/* --- memory to be saved; local --- */

/* The size of an element in bytes. */
typedef size_t VELOC_type;

#define VELOC_CHAR ((VELOC_type)1)
#define VELOC_SHRT ((VELOC_type)sizeof(short))
#define VELOC_INTG ((VELOC_type)sizeof(int))
#define VELOC_LONG ((VELOC_type)sizeof(long))
#define VELOC_SFLT ((VELOC_type)sizeof(float))
#define VELOC_DBLE ((VELOC_type)sizeof(double))
#define VELOC_LDBE ((VELOC_type)sizeof(long double))

/* Save `count` elements at ptr as region id; a region of that id is replaced, and with
 * count 0 forgotten. */
int VELOC_Mem_protect(int id, void *ptr, size_t count, VELOC_type base_size);
int VELOC_Mem_unprotect(int id);
int VELOC_Mem_clear(void);

/* The same for regions that have a name, and a file of their own. */
int VELOC_Region_protect(int id, void *ptr, size_t count, VELOC_type base_size,
                         const char *name);
int VELOC_Region_unprotect(int id, const char *name);
int VELOC_Region_clear(const char *name);

/* --- files to be saved; local --- */

/* Where to write, or on a restart to read, the file `original`. `routed` has room for
 * VELOC_MAX_NAME bytes. */
int VELOC_Route_file(const char *original, char *routed);

/* --- a checkpoint --- */

/* Begin checkpoint `version` of `name`: files routed and memory saved until
 * VELOC_Checkpoint_end belong to it. */
int VELOC_Checkpoint_begin(const char *name, int version);
int VELOC_Checkpoint_selective(int mode, int *ids, int id_count);
int VELOC_Checkpoint_mem(void);

/* success: this rank has written all that it wanted to. The checkpoint is kept when
 * all have. */
int VELOC_Checkpoint_end(int success);

/* Wait until the work on the checkpoints so far is done, and tell how it went: they are
 * complete in any case. */
int VELOC_Checkpoint_wait(void);

/* Local. 1 when it is done, or cannot be; 0 while it goes on. */
int VELOC_Checkpoint_finished(void);

/* All of it: begin, save the memory, end. */
int VELOC_Checkpoint(const char *name, int version);

/* Remove the checkpoints of that name from the caches. */
int VELOC_Cleanup(const char *name);

/* --- a restart --- */

/* The newest version of `name` below `version` (0: any) that can be read, or
 * VELOC_FAILURE when there is none. */
int VELOC_Restart_test(const char *name, int version);

/* Read that version: route its files, recover its memory. */
int VELOC_Restart_begin(const char *name, int version);
int VELOC_Recover_selective(int mode, int *ids, int id_count);
int VELOC_Recover_mem(void);

/* Local. Bytes saved of a region, or VELOC_FAILURE. */
int VELOC_Recover_size(int id);

/* success: what this rank has read is good. When it is not for any, the checkpoint is
 * not offered again. */
int VELOC_Restart_end(int success);

/* All of it: begin, recover the memory, end. */
int VELOC_Restart(const char *name, int version);

/* --- more than VELOC has --- */

/* Local. Why the last function failed; "" when it did not. Good until the next call. */
const char *VELOC_Error(void);

/* Local. The version of the library at run time as "major.minor.patch", into `version`
 * with room for VELOC_MAX_NAME bytes. May be called before VELOC_Init. */
int VELOC_Get_version(char *version);

/* Local. A type of `size` bytes. */
int VELOC_Mem_type(size_t size, VELOC_type *type);

/* VELOC_Checkpoint_mem and VELOC_Recover_selective by other names. */
int VELOC_Mem_save(void);
int VELOC_Mem_recover(int mode, int *ids, int id_count);

/* *flag: 1 when a checkpoint should be made now. 0 when there is no session. */
int VELOC_Need_checkpoint(int *flag);

/* *flag: 1 when the program should end now. */
int VELOC_Exit_test(int *flag);

/* Local. The same as VELOC_Route_file for a file that is to be written where it belongs
 * at once, past the cache: nothing protects it there. Give it another name in every
 * checkpoint. */
int VELOC_Route_through(const char *original, char *routed);

/* A checkpoint whose name is "checkpoint" and whose version counts up. */
int VELOC_Start_checkpoint(void);
int VELOC_Complete_checkpoint(int valid);

/* A dataset for other ends, or for both; it is always flushed. */
#define VELOC_USE_CHECKPOINT 1
#define VELOC_USE_OUTPUT 2
int VELOC_Start_output(const char *name, int version, int use);
int VELOC_Complete_output(int valid);

/* Where a restart would read the newest checkpoint of that name (NULL: of any). */
#define VELOC_STATUS_NONE 0
#define VELOC_STATUS_CACHE 1
#define VELOC_STATUS_PREFIX 2
int VELOC_Status(const char *name, int *status);

/* Take this one at the next start; forget one; forget it and delete its files. */
int VELOC_Current(const char *name, int version);
int VELOC_Drop(const char *name, int version);
int VELOC_Delete(const char *name, int version);

/* --- is all well? The worst of all ranks. --- */

#define VELOC_VALID 0
#define VELOC_INCORRECT_COMB_ENC_AND_STORAGE 1
#define VELOC_INCORRECT_RS_GROUP_SIZE 2
#define VELOC_INCORRECT_COMB_ENC_AND_GROUP 3
#define VELOC_INCORRECT_OTHER 4
int VELOC_Check_Configuration(int *status);

#define VELOC_NO_SUCH_DIRECTORY 1
#define VELOC_NO_WRITE_PERMISSION 2
#define VELOC_NO_ENOUGH_SPACE 3
#define VELOC_STORAGE_OTHER 4
int VELOC_Check_Storage_Availability(const char *dir, int *status);

#define VELOC_DEAD_CHECKPOINT_LISTENER 1
#define VELOC_DEAD_RESTART_LISTENER 2
int VELOC_Check_Backend_Aliveness(int *status);

/* *status: how many nodes that hold copies of others do not answer. */
#define VELOC_ALL_ALIVE 0
int VELOC_Check_Backup_Nodes(int *status);

#ifdef __cplusplus
}
#endif

#endif
