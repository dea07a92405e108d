# jobs - what a node does for a dataset: take, encode, flush, stand in its place; what it has promised.
core_sources += \
	%D%/anchor.c %D%/anchor.h \
	%D%/anchor_follow.c \
	%D%/batches.c %D%/batches.h %D%/batches_in.h \
	%D%/batches_begin.c \
	%D%/batches_files.c \
	%D%/batches_gone.c \
	%D%/batches_notes.c \
	%D%/batches_over.c \
	%D%/batches_part.c \
	%D%/batches_put.c \
	%D%/compose.c %D%/compose.h \
	%D%/copying.c %D%/copying.h \
	%D%/delta.c %D%/delta.h \
	%D%/delta_past.c %D%/delta_past.h \
	%D%/encode.c %D%/encode.h \
	%D%/flushing.c %D%/flushing.h %D%/flushing_in.h \
	%D%/flushing_names.c \
	%D%/flushing_owner.c \
	%D%/flushing_packed.c \
	%D%/flushing_patch.c \
	%D%/flushing_service.c \
	%D%/flushing_share.c \
	%D%/flushing_since.c \
	%D%/forget.c %D%/forget.h \
	%D%/hashes.c %D%/hashes.h \
	%D%/mark.c %D%/mark.h \
	%D%/muster.c %D%/muster.h \
	%D%/part_files.c %D%/part_files.h \
	%D%/placeholders.c %D%/placeholders.h %D%/placeholders_in.h \
	%D%/placeholders_end.c \
	%D%/placeholders_facts.c \
	%D%/placeholders_follow.c \
	%D%/promise.c %D%/promise.h \
	%D%/stub.c %D%/stub.h \
	%D%/sweep.c %D%/sweep.h \
	%D%/sweep_in.h %D%/sweep_claims.c %D%/sweep_datasets.c %D%/sweep_seals.c \
	%D%/sweep_single.c %D%/sweep_single.h \
	%D%/sweep_temps.c %D%/sweep_temps.h \
	%D%/take.c %D%/take.h %D%/take_in.h \
	%D%/take_map.c \
	%D%/take_place.c \
	%D%/take_promise.c \
	%D%/take_protect.c \
	%D%/take_sources.c \
	%D%/work.c %D%/work.h \
	%D%/writing.c %D%/writing.h
# End of jobs
