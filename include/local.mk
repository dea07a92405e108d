# include - what users compile against.
include_HEADERS += %D%/H5VLveloc.h %D%/veloc_transport.h
if HAVE_MPI
include_HEADERS += %D%/veloc.h %D%/veloc_redset.h
endif
# End of include
