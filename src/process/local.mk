# process - whoever has a leader: HDF5 files, sessions, and tools that are a launch of their own.
core_sources += \
	%D%/affairs.c %D%/affairs.h \
	%D%/attend.c %D%/attend.h \
	%D%/orderly.c %D%/orderly.h \
	%D%/files.c %D%/files.h %D%/files_in.h \
	%D%/files_agree.c \
	%D%/files_ask.c %D%/files_ask.h \
	%D%/files_here.c \
	%D%/files_hold.c \
	%D%/files_home.c \
	%D%/files_launch.c \
	%D%/files_list.c \
	%D%/files_live.c \
	%D%/files_name.c \
	%D%/files_open.c %D%/files_open_in.h \
	%D%/files_point.c \
	%D%/files_reading.c \
	%D%/files_restart.c \
	%D%/files_session.c \
	%D%/files_tell.c \
	%D%/files_version.c \
	%D%/files_writer.c \
	%D%/guest.c %D%/guest.h \
	%D%/homes.c %D%/homes.h \
	%D%/launcher.c %D%/launcher.h \
	%D%/prerun.c %D%/prerun.h %D%/prerun_in.h \
	%D%/prerun_dataset.c \
	%D%/prerun_meet.c \
	%D%/prerun_place.c \
	%D%/prerun_roll.c \
	%D%/presence.c %D%/presence.h
# End of process
