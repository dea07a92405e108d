# include - what users compile against.
if HAVE_MPI
include_HEADERS += %D%/veloc.h
endif
# End of include
