# red - redundancy: plan what is combined, move the bytes, keep the result in redundancy files.
core_sources += \
	%D%/apply.c \
	%D%/rebuild.c %D%/rebuild.h %D%/rebuild_in.h %D%/rebuild_set.c \
	%D%/recover.c %D%/recover.h %D%/recover_all.c %D%/recover_brief.c \
	%D%/regain.c %D%/regain.h \
	%D%/regroup.c %D%/regroup.h \
	%D%/restore.c %D%/restore.h \
	%D%/changes.c %D%/changes.h \
	%D%/crcmap.c %D%/crcmap.h \
	%D%/exec.h %D%/exec_comm.c %D%/exec_local.c \
	%D%/header.c %D%/header.h \
	%D%/layout.c %D%/layout.h \
	%D%/listing.c %D%/listing.h \
	%D%/lofi.c %D%/lofi.h \
	%D%/manifest.c %D%/manifest.h \
	%D%/member.c %D%/member.h \
	%D%/older.c %D%/older.h \
	%D%/plan.c %D%/plan.h \
	%D%/redfile.c %D%/redfile.h \
	%D%/set.c %D%/set.h \
	%D%/shelf.c %D%/shelf.h
# End of red
