# test/fault - campaigns: random work with faults, crashes and losses, chosen by seeds.
# make check runs a small slice of each; make check-fault SEEDS=a-b these seeds of all.
fault_tests = \
	test/fault/behind.t \
	test/fault/damage.t \
	test/fault/protect.t \
	test/fault/hang.t \
	test/fault/kill.t \
	test/fault/life.t \
	test/fault/replace.t
fault_scripts = test/cluster/kills.t
if HAVE_MPI
fault_tests += test/fault/leaders.t test/fault/frozen.t test/fault/three.t \
	test/fault/storage.t
test_fault_leaders_t_SOURCES = %D%/leaders.c
test_fault_leaders_t_CPPFLAGS = $(test_cppflags)
test_fault_leaders_t_LDADD = $(test_ldadd)
test_fault_frozen_t_SOURCES = %D%/frozen.c
test_fault_frozen_t_CPPFLAGS = $(test_cppflags)
test_fault_frozen_t_LDADD = $(test_ldadd)
test_fault_three_t_SOURCES = %D%/three.c
test_fault_three_t_CPPFLAGS = $(test_cppflags)
test_fault_three_t_LDADD = $(test_ldadd)
check_PROGRAMS += test/fault/shift
test_fault_shift_SOURCES = %D%/shift.c test/tap/clocks.c
test_fault_shift_CPPFLAGS = $(test_mpi_cppflags) -I$(top_srcdir)/include
test_fault_shift_LDADD = src/libveloc.la $(MPI_LIBS) -ldl
# a preload, as test/yield is
check_LTLIBRARIES += test/fault/clocks.la
test_fault_clocks_la_SOURCES = %D%/clocks.c
test_fault_clocks_la_CFLAGS = -std=gnu11 -Wall -Wextra
test_fault_clocks_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
TESTS += test/fault/clocks.t
fault_scripts += test/fault/clocks.t
test_fault_storage_t_SOURCES = %D%/storage.c
test_fault_storage_t_CPPFLAGS = $(test_mpi_cppflags)
test_fault_storage_t_LDADD = src/libveloc.la $(test_mpi_ldadd)
endif
check_PROGRAMS += $(fault_tests)
TESTS += $(fault_tests) test/fault/reflink.t
EXTRA_DIST += %D%/clocks.t %D%/reflink.t

test_fault_damage_t_SOURCES = %D%/damage.c
test_fault_damage_t_CPPFLAGS = $(test_cppflags)
test_fault_damage_t_LDADD = $(test_ldadd)

test_fault_protect_t_SOURCES = %D%/protect.c
test_fault_protect_t_CPPFLAGS = $(test_cppflags)
test_fault_protect_t_LDADD = $(test_ldadd)

test_fault_replace_t_SOURCES = %D%/replace.c
test_fault_replace_t_CPPFLAGS = $(test_cppflags)
test_fault_replace_t_LDADD = $(test_ldadd)

test_fault_kill_t_SOURCES = %D%/kill.c
test_fault_kill_t_CPPFLAGS = $(test_cppflags)
test_fault_kill_t_LDADD = $(test_ldadd)

test_fault_hang_t_SOURCES = %D%/hang.c
test_fault_hang_t_CPPFLAGS = $(test_cppflags)
test_fault_hang_t_LDADD = $(test_ldadd)

test_fault_life_t_SOURCES = %D%/life.c
test_fault_life_t_CPPFLAGS = $(test_cppflags)
test_fault_life_t_LDADD = $(test_ldadd)

test_fault_behind_t_SOURCES = %D%/behind.c
test_fault_behind_t_CPPFLAGS = $(test_cppflags)
test_fault_behind_t_LDADD = $(test_ldadd) -lpthread

.PHONY: check-fault
check-fault:
	@SEEDS='$(SEEDS)' $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(fault_tests) $(fault_scripts)'
# End of test/fault
