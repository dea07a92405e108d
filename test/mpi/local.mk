# test/mpi
# End of test/mpi
