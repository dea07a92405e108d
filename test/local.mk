# test - see test/README.md for which kind of test lives where.
# The extension of a test is the number of its ranks; .t runs alone.
TEST_EXTENSIONS = .t .np1 .np2 .np4 .np8
TAP_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
T_LOG_DRIVER = $(TAP_DRIVER)
NP1_LOG_DRIVER = $(TAP_DRIVER)
NP2_LOG_DRIVER = $(TAP_DRIVER)
NP4_LOG_DRIVER = $(TAP_DRIVER)
NP8_LOG_DRIVER = $(TAP_DRIVER)
T_LOG_COMPILER = $${TEST_LIMIT:+timeout -k 30 $$TEST_LIMIT}
MPIRUN = $(top_srcdir)/test/mpirun.sh
NP1_LOG_COMPILER = $(MPIRUN) 1
NP2_LOG_COMPILER = $(MPIRUN) 2
NP4_LOG_COMPILER = $(MPIRUN) 4
NP8_LOG_COMPILER = $(MPIRUN) 8
EXTRA_DIST += %D%/lsan.supp %D%/tsan.supp %D%/valgrind.supp %D%/README.md %D%/summary.sh %D%/mpirun.sh %D%/link.sh %D%/libtool.sh %D%/machine.xml %D%/launcher.sh %D%/stacks.sh \
	%D%/tap/tap.sh

parallel_hdf5 =
if PARALLEL_HDF5
parallel_hdf5 += yes
endif

# What every test finds in its environment. Directories are absolute, so that a test may go
# where it likes. The tools are those in .libs, without libtool's scripts, which take longer than they do.
AM_TESTS_ENVIRONMENT = \
	top_srcdir='$(abs_top_srcdir)'; export top_srcdir; \
	top_builddir='$(abs_top_builddir)'; export top_builddir; \
	TOOLS='$(abs_top_builddir)/src/cmd/.libs'; export TOOLS; \
	LD_LIBRARY_PATH="$(abs_top_builddir)/src/.libs$${LD_LIBRARY_PATH:+:$$LD_LIBRARY_PATH}"; export LD_LIBRARY_PATH; \
	MPI_KIND='$(MPI_KIND)'; export MPI_KIND; \
	MPIEXEC='$(MPIEXEC)'; export MPIEXEC; \
	SANITIZER='$(SANITIZER)'; export SANITIZER; \
	YIELD_SHIM='$(yield_shim)'; export YIELD_SHIM; \
	CC='$(CC)'; HDF5_CFLAGS='$(HDF5_CFLAGS)'; HDF5_LIBS='$(HDF5_LIBS)'; export CC HDF5_CFLAGS HDF5_LIBS; \
	MPI_CFLAGS='$(MPI_CFLAGS)'; MPI_LIBS='$(MPI_LIBS)'; export MPI_CFLAGS MPI_LIBS; \
	HDF5_BINDIR='$(HDF5_BINDIR)'; export HDF5_BINDIR; \
	HDF5_SOURCE='$(HDF5_SOURCE)'; PARALLEL_HDF5='$(parallel_hdf5)'; export HDF5_SOURCE PARALLEL_HDF5; \
	case '$(SANITIZER)' in thread) UCX_MEM_EVENTS=n; export UCX_MEM_EVENTS;; esac; \
	LSAN_OPTIONS="suppressions='$(abs_top_srcdir)/test/lsan.supp':print_suppressions=0"; export LSAN_OPTIONS; \
	TSAN_OPTIONS="suppressions='$(abs_top_srcdir)/test/tsan.supp':ignore_noninstrumented_modules=1:die_after_fork=0"; export TSAN_OPTIONS; \
	HDF5_PLUGIN_PATH='$(abs_top_builddir)/vol/.libs'; export HDF5_PLUGIN_PATH; \
	VELOC_QUIET=1; export VELOC_QUIET;

check_LTLIBRARIES += test/libtap.la
test_libtap_la_SOURCES = \
	%D%/tap/launchlab.h \
	%D%/tap/files.c %D%/tap/files.h \
	%D%/tap/fs_fault.c %D%/tap/fs_fault.h \
	%D%/tap/fs_undo.c %D%/tap/fs_undo.h \
	%D%/tap/fs_undo_log.c %D%/tap/fs_undo_log.h \
	%D%/tap/fs_undo_loss.c \
	%D%/tap/manual_clock.c %D%/tap/manual_clock.h \
	%D%/tap/rng.c %D%/tap/rng.h \
	%D%/tap/seeds.c %D%/tap/seeds.h \
	%D%/tap/sweep.c %D%/tap/sweep.h \
	%D%/tap/tap.c %D%/tap/tap.h
test_libtap_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test
test_libtap_la_LDFLAGS = $(AM_LDFLAGS)
test_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/test $(JANSSON_CFLAGS)
test_ldadd = test/liblab.la test/libtap.la src/libveloc_core.la

# What several tests are made with, compiled once: a program gets of an archive what it calls.
check_LTLIBRARIES += test/liblab.la
test_liblab_la_SOURCES = \
	%D%/tap/batchlab.c %D%/tap/batchlab.h \
	%D%/tap/behindlab.c %D%/tap/behindlab.h \
	%D%/tap/board.h \
	%D%/tap/bosslab.c %D%/tap/bosslab.h \
	%D%/tap/bundle.c %D%/tap/bundle.h \
	%D%/tap/clocks.c %D%/tap/clocks.h \
	%D%/tap/commcheck.c %D%/tap/commcheck.h \
	%D%/tap/crewlab.c %D%/tap/crewlab.h \
	%D%/tap/crowd.c %D%/tap/crowd.h \
	%D%/tap/damagecase.c %D%/tap/damagecase.h \
	%D%/tap/damagelab.c %D%/tap/damagelab.h \
	%D%/tap/deadlyfs.c %D%/tap/deadlyfs.h \
	%D%/tap/deltalab.c %D%/tap/deltalab.h \
	%D%/tap/digestlab.c %D%/tap/digestlab.h \
	%D%/tap/encodelab.c %D%/tap/encodelab.h \
	%D%/tap/encodelab_parts.c \
	%D%/tap/encodelab_task.c \
	%D%/tap/eventlab.c %D%/tap/eventlab.h \
	%D%/tap/filelab.c %D%/tap/filelab.h \
	%D%/tap/flushlab.c %D%/tap/flushlab.h \
	%D%/tap/hangfs.c %D%/tap/hangfs.h \
	%D%/tap/indexlab.c %D%/tap/indexlab.h \
	%D%/tap/leaderfate.c \
	%D%/tap/leaderfiles.c \
	%D%/tap/leaderindex.c \
	%D%/tap/leaderjobs.c \
	%D%/tap/leaderkeys.c \
	%D%/tap/leaderlab.c %D%/tap/leaderlab.h \
	%D%/tap/leaderrecords.c \
	%D%/tap/leaderwriter.c \
	%D%/tap/ledgerlab.c %D%/tap/ledgerlab.h \
	%D%/tap/linklab.c %D%/tap/linklab.h \
	%D%/tap/machinelab.c %D%/tap/machinelab.h \
	%D%/tap/movelab.c %D%/tap/movelab.h \
	%D%/tap/packlab.c %D%/tap/packlab.h \
	%D%/tap/partlab.c %D%/tap/partlab.h \
	%D%/tap/placelab.c %D%/tap/placelab.h \
	%D%/tap/proglab.c %D%/tap/proglab.h \
	%D%/tap/pulllab.c %D%/tap/pulllab.h \
	%D%/tap/recordlab.c %D%/tap/recordlab.h \
	%D%/tap/redcases.c %D%/tap/redcases.h \
	%D%/tap/redlab.c %D%/tap/redlab.h \
	%D%/tap/scalefiles.c \
	%D%/tap/scalelab.c %D%/tap/scalelab.h \
	%D%/tap/scalerecords.c \
	%D%/tap/scaleturns.c \
	%D%/tap/seslab.c %D%/tap/seslab.h \
	%D%/tap/shiftlab.c %D%/tap/shiftlab.h \
	%D%/tap/sockjob.c %D%/tap/sockjob.h \
	%D%/tap/sparse.c %D%/tap/sparse.h \
	%D%/tap/splitlab.c %D%/tap/splitlab.h \
	%D%/tap/standin.c %D%/tap/standin.h \
	%D%/tap/standin_in.h \
	%D%/tap/standin_mark.c \
	%D%/tap/standin_work.c \
	%D%/tap/sweeplab.c %D%/tap/sweeplab.h \
	%D%/tap/topolab.c %D%/tap/topolab.h \
	%D%/tap/turns.c %D%/tap/turns.h \
	%D%/tap/viewlab.c %D%/tap/viewlab.h \
	%D%/tap/wirelab.c %D%/tap/wirelab.h
test_liblab_la_CPPFLAGS = $(test_cppflags)
test_liblab_la_LDFLAGS = $(AM_LDFLAGS)

if HAVE_MPI
check_LTLIBRARIES += test/libmtap.la
test_libmtap_la_SOURCES = %D%/tap/apilab.c %D%/tap/apilab.h %D%/tap/mtap.c %D%/tap/mtap.h
test_libmtap_la_CPPFLAGS = $(test_mpi_cppflags)
test_libmtap_la_LDFLAGS = $(AM_LDFLAGS)
test_libmtap_la_LIBADD = test/libtap.la
endif
test_mpi_cppflags = $(test_cppflags) $(MPI_CFLAGS)
test_mpi_ldadd = test/libmtap.la $(test_ldadd) $(MPI_LIBS)

# A preload has none of the sanitizers' flags: it also lands in programs without them.
yield_shim =
if HAVE_MPICH
yield_shim += $(abs_top_builddir)/test/.libs/yield.so
check_LTLIBRARIES += test/yield.la
test_yield_la_SOURCES = %D%/yield/yield.c
test_yield_la_CPPFLAGS = $(MPI_CFLAGS)
test_yield_la_CFLAGS = -std=gnu11 -Wall -Wextra
test_yield_la_LIBADD = -ldl
test_yield_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
endif

# What takes more than a few seconds: built by make check, run by make check-slow.
slow_tests =

# Long ones first: the last test to start should not be the last to end.
include %D%/cluster/local.mk
include %D%/model/local.mk
include %D%/harness/local.mk
include %D%/mpi/local.mk
include %D%/fault/local.mk
include %D%/vol/local.mk
include %D%/cmd/local.mk
include %D%/sdk/local.mk
include %D%/unit/local.mk
include %D%/fuzz/local.mk
include %D%/lint/local.mk
include %D%/bench/local.mk
check_PROGRAMS += $(slow_tests)

# A slice of make check. check-fault has seeds and lives in fault/local.mk.
.PHONY: check-unit check-mpi check-cmd check-cluster check-lint check-harness check-model check-slow
check-unit: ; $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(unit_tests)'
check-mpi: ; $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(mpi_tests)'
check-cmd: ; $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(cmd_tests)'
check-cluster: ; $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(cluster_tests)'
check-lint: ; $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(lint_tests)'
check-harness: ; $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(harness_tests)'
check-model: ; $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(model_tests)'
check-slow:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(slow_tests)'
	$(MAKE) $(AM_MAKEFLAGS) check-fault SEEDS="$${SEEDS:-1-300}"
# End of test
