# test/unit - one program per module, named like it; a list per room.
unit_tests =
include %D%/base.mk
include %D%/sys.mk
include %D%/facts.mk
include %D%/ledger.mk
include %D%/log.mk
include %D%/conf.mk
include %D%/record.mk
include %D%/code.mk
include %D%/comm.mk
include %D%/topo.mk
include %D%/red.mk
include %D%/meta.mk
include %D%/engine.mk
include %D%/api.mk
include %D%/xfer.mk
include %D%/recover.mk
include %D%/node.mk
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)

# Under memcheck: what computes on raw memory, what speaks to other processes, and programs with the
# connector. ISA-L runs with AVX2 there, the widest that valgrind knows; it tells that to ISA-L by
# itself. What is found in processes that a test starts is in memcheck/, whatever the test makes of it;
# the system's own programs are left out, its shell with all that it starts: a test in shell puts
# it before a program itself (memcheck in tap.sh). hwloc, which MPICH asks, has a word of its own for valgrind.
valgrind_tests = test/unit/code.t test/unit/comm.t test/unit/commsock.t test/unit/commloss.t \
	test/unit/crc.t test/unit/plan.t test/unit/siphash.t test/unit/red.t test/unit/redsock.t \
	test/unit/redsize.t test/unit/regroup.t \
	test/vol/asks.t test/vol/beside.t test/vol/ends.t test/vol/errors.t test/vol/exits.t test/vol/files.t \
	test/vol/full.t test/vol/growth.t test/vol/held.t test/vol/plugin.t test/vol/points.t test/vol/restarts.t
MEMCHECK = valgrind -q --error-exitcode=99 --leak-check=full \
	--show-leak-kinds=definite --errors-for-leak-kinds=definite --suppressions=$(abs_top_srcdir)/test/valgrind.supp \
	--trace-children=yes --trace-children-skip=/bin/*,/sbin/*,/usr/*,$(HDF5_BINDIR)/* \
	--log-file=$(abs_top_builddir)/memcheck/%p
.PHONY: check-valgrind
check-valgrind:
	@command -v valgrind >/dev/null || { echo "check-valgrind needs valgrind" >&2; exit 1; }
	rm -rf memcheck && mkdir memcheck
	HWLOC_COMPONENTS=-x86 GROWTH_FILES=$${GROWTH_FILES:-50} EIGHT_ROUNDS=$${EIGHT_ROUNDS:-1} TEST_TIMEOUT=$${TEST_TIMEOUT:-600} \
		$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(valgrind_tests)' \
		T_LOG_COMPILER='$(MEMCHECK)' MEMCHECK='$(MEMCHECK)' SANITIZER=memcheck
	! grep -r -v 'WARNING: valgrind ignores' memcheck && rm -r memcheck
# End of test/unit
