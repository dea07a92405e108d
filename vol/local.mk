# vol - the HDF5 plug-in of this flavour. That of a serial HDF5 has no shared files and links no
# MPI; both share the engine of the process through libveloc_core.
if PARALLEL_HDF5
endif
EXTRA_DIST += %D%/plugin.map
# End of vol
