# test/mpi - programs of several ranks on this machine; the extension is their number.
mpi_tests =
if HAVE_MPI
mpi_tests += test/mpi/mtap.np4
test_mpi_mtap_np4_SOURCES = %D%/mtap.c
test_mpi_mtap_np4_CPPFLAGS = $(test_mpi_cppflags)
test_mpi_mtap_np4_LDADD = $(test_mpi_ldadd)
endif
check_PROGRAMS += $(mpi_tests)
TESTS += $(mpi_tests)
# End of test/mpi
