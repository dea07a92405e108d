# test/mpi - programs of several ranks on this machine; the extension is their number.
mpi_tests =
if HAVE_MPI
mpi_tests += test/mpi/mtap.np4
test_mpi_mtap_np4_SOURCES = %D%/mtap.c
test_mpi_mtap_np4_CPPFLAGS = $(test_mpi_cppflags)
test_mpi_mtap_np4_LDADD = $(test_mpi_ldadd)

# the pieces of a long message are small here, so that messages of some MiB have many
check_LTLIBRARIES += test/libcommmpi.la
test_libcommmpi_la_SOURCES = src/comm/mpi.c src/comm/mpi.h
test_libcommmpi_la_CPPFLAGS = $(test_mpi_cppflags) -DVEL_COMM_MPI_PIECE=1000003
test_libcommmpi_la_LDFLAGS = $(AM_LDFLAGS)
mpi_tests += test/mpi/comm.np4 test/mpi/comm_wide.np8
test_mpi_comm_np4_SOURCES = %D%/comm.c
test_mpi_comm_np4_CPPFLAGS = $(test_mpi_cppflags)
test_mpi_comm_np4_LDADD = test/libcommmpi.la $(test_mpi_ldadd)
test_mpi_comm_wide_np8_SOURCES = $(test_mpi_comm_np4_SOURCES)
test_mpi_comm_wide_np8_CPPFLAGS = $(test_mpi_cppflags)
test_mpi_comm_wide_np8_LDADD = $(test_mpi_comm_np4_LDADD)

# one program, several numbers of ranks: under other names, since the log is named without .npN
mpi_tests += test/mpi/red.np4 test/mpi/red_wide.np8
red_mpi_sources = %D%/red.c
test_mpi_red_np4_SOURCES = $(red_mpi_sources)
test_mpi_red_np4_CPPFLAGS = $(test_mpi_cppflags)
test_mpi_red_np4_LDADD = test/libcommmpi.la $(test_mpi_ldadd)
test_mpi_red_wide_np8_SOURCES = $(red_mpi_sources)
test_mpi_red_wide_np8_CPPFLAGS = $(test_mpi_cppflags)
test_mpi_red_wide_np8_LDADD = test/libcommmpi.la $(test_mpi_ldadd)

mpi_tests += test/mpi/split.np4 test/mpi/split_wide.np8
split_mpi_sources = %D%/split.c
test_mpi_split_np4_SOURCES = $(split_mpi_sources)
test_mpi_split_np4_CPPFLAGS = $(test_mpi_cppflags)
test_mpi_split_np4_LDADD = test/libcommmpi.la $(test_mpi_ldadd)
test_mpi_split_wide_np8_SOURCES = $(split_mpi_sources)
test_mpi_split_wide_np8_CPPFLAGS = $(test_mpi_cppflags)
test_mpi_split_wide_np8_LDADD = test/libcommmpi.la $(test_mpi_ldadd)
mpi_tests += test/mpi/topo.np8
test_mpi_topo_np8_SOURCES = %D%/topo.c
test_mpi_topo_np8_CPPFLAGS = $(test_mpi_cppflags)
test_mpi_topo_np8_LDADD = test/libcommmpi.la $(test_mpi_ldadd)
mpi_tests += test/mpi/reddesc.np8
test_mpi_reddesc_np8_SOURCES = %D%/reddesc.c
test_mpi_reddesc_np8_CPPFLAGS = $(test_mpi_cppflags)
test_mpi_reddesc_np8_LDADD = test/libcommmpi.la $(test_mpi_ldadd)

# what programs call, in the library they link with
mpi_tests += test/mpi/redset.np4
test_mpi_redset_np4_SOURCES = %D%/redset.c
test_mpi_redset_np4_CPPFLAGS = $(test_mpi_cppflags)
test_mpi_redset_np4_LDADD = src/libveloc.la $(test_mpi_ldadd)
mpi_tests += test/mpi/redsame.np4
test_mpi_redsame_np4_SOURCES = %D%/redsame.c
test_mpi_redsame_np4_CPPFLAGS = $(test_mpi_cppflags)
test_mpi_redsame_np4_LDADD = test/libcommmpi.la $(test_mpi_ldadd)
mpi_tests += test/mpi/answers.np4
test_mpi_answers_np4_SOURCES = %D%/answers.c
test_mpi_answers_np4_CPPFLAGS = $(test_mpi_cppflags)
test_mpi_answers_np4_LDADD = src/libveloc.la $(test_mpi_ldadd)
include %D%/api.mk
include %D%/golden.mk
endif
EXTRA_DIST += test/data/golden/README test/data/golden/v3.txt
check_PROGRAMS += $(mpi_tests)
TESTS += $(mpi_tests)
# End of test/mpi
