# comm - a group of processes that exchange bytes. mpi.c is in libveloc (src/api).
core_sources += \
	%D%/agree.c \
	%D%/coll.c %D%/coll.h \
	%D%/comm.c %D%/comm.h \
	%D%/exchange.c \
	%D%/gather.c \
	%D%/self.c \
	%D%/sock.c %D%/sock.h %D%/sock_comm.h \
	%D%/sock_alive.c \
	%D%/sock_keep.c \
	%D%/sock_meet.c \
	%D%/sock_mesh.c %D%/sock_mesh.h %D%/sock_mesh_out.c \
	%D%/sock_wire.c %D%/sock_wire.h \
	%D%/tags.h
# End of comm
