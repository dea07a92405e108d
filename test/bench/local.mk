# test/bench - one program per question; `make bench` runs them (BENCH=pattern).
# A program prints rows through bench.c, which is the one place that knows how to measure.
bench_programs = \
	test/bench/checkpoint \
	test/bench/connector \
	test/bench/copy_speed \
	test/bench/delta \
	test/bench/flush \
	test/bench/leader_begin \
	test/bench/live \
	test/bench/memory \
	test/bench/parity \
	test/bench/scale \
	test/bench/split
check_PROGRAMS += $(bench_programs) # so that they go on compiling
EXTRA_DIST += %D%/run.sh
bench_sources = %D%/bench.c %D%/bench.h

if HAVE_MPI
# the extension is the number of ranks
bench_programs += test/bench/calls test/bench/encode.np4 test/bench/encode.np8 test/bench/leader.np2
test_bench_calls_SOURCES = %D%/calls.c $(bench_sources)
test_bench_calls_CPPFLAGS = $(test_mpi_cppflags)
test_bench_calls_LDADD = src/libveloc.la $(test_ldadd) $(MPI_LIBS)
test_bench_leader_np2_SOURCES = %D%/leader.c $(bench_sources)
test_bench_leader_np2_CPPFLAGS = $(test_mpi_cppflags)
test_bench_leader_np2_LDADD = src/libveloc.la $(test_ldadd) $(MPI_LIBS)
test_bench_encode_np4_SOURCES = %D%/encode.c $(bench_sources)
test_bench_encode_np4_CPPFLAGS = $(test_mpi_cppflags)
test_bench_encode_np4_LDADD = src/libcommmpi.la $(test_ldadd) $(MPI_LIBS)
test_bench_encode_np8_SOURCES = $(test_bench_encode_np4_SOURCES)
test_bench_encode_np8_CPPFLAGS = $(test_mpi_cppflags)
test_bench_encode_np8_LDADD = $(test_bench_encode_np4_LDADD)
EXTRA_LTLIBRARIES += src/libcommmpi.la
src_libcommmpi_la_SOURCES = src/comm/mpi.c src/comm/mpi.h
src_libcommmpi_la_CPPFLAGS = $(test_mpi_cppflags)
src_libcommmpi_la_LDFLAGS = $(AM_LDFLAGS)
endif

test_bench_checkpoint_SOURCES = %D%/checkpoint.c $(bench_sources)
test_bench_checkpoint_CPPFLAGS = $(test_cppflags)
test_bench_checkpoint_LDADD = $(test_ldadd)

test_bench_connector_SOURCES = %D%/connector.c $(bench_sources)
test_bench_connector_CPPFLAGS = $(test_cppflags) $(HDF5_CFLAGS) $(MPI_CFLAGS)
test_bench_connector_LDADD = src/libveloc_core.la $(HDF5_LIBS) $(MPI_LIBS)

test_bench_live_SOURCES = %D%/live.c $(bench_sources)
test_bench_live_CPPFLAGS = $(test_cppflags) $(HDF5_CFLAGS) $(MPI_CFLAGS)
test_bench_live_LDADD = src/libveloc_core.la $(HDF5_LIBS) $(MPI_LIBS)

test_bench_copy_speed_SOURCES = %D%/copy_speed.c $(bench_sources)
test_bench_copy_speed_CPPFLAGS = $(test_cppflags)
test_bench_copy_speed_LDADD = $(test_ldadd)

test_bench_leader_begin_SOURCES = %D%/leader_begin.c $(bench_sources)
test_bench_leader_begin_CPPFLAGS = $(test_cppflags)
test_bench_leader_begin_LDADD = $(test_ldadd)
test_bench_delta_SOURCES = %D%/delta.c $(bench_sources)
test_bench_delta_CPPFLAGS = $(test_cppflags)
test_bench_delta_LDADD = $(test_ldadd)

test_bench_memory_SOURCES = %D%/memory.c $(bench_sources)
test_bench_memory_CPPFLAGS = $(test_cppflags)
test_bench_memory_LDADD = $(memory_ldadd)

test_bench_parity_SOURCES = %D%/parity.c $(bench_sources)
test_bench_parity_CPPFLAGS = $(test_cppflags)
test_bench_parity_LDADD = $(test_ldadd)

test_bench_scale_SOURCES = %D%/scale.c $(bench_sources)
test_bench_scale_CPPFLAGS = $(test_cppflags)
test_bench_scale_LDADD = $(test_ldadd)

test_bench_split_SOURCES = %D%/split.c $(bench_sources)
test_bench_split_CPPFLAGS = $(test_cppflags)
test_bench_split_LDADD = $(test_ldadd)

test_bench_flush_SOURCES = %D%/flush.c $(bench_sources)
test_bench_flush_CPPFLAGS = $(test_cppflags)
test_bench_flush_LDADD = $(test_ldadd)

.PHONY: bench
bench: $(bench_programs) $(check_LTLIBRARIES)
	@$(AM_TESTS_ENVIRONMENT) $(SHELL) $(srcdir)/%D%/run.sh $(bench_programs)
# End of test/bench
