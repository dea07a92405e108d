# test/fault - campaigns: random work with faults, crashes and losses, chosen by seeds.
# make check runs a small slice of each; make check-fault SEEDS=a-b these seeds of all.
fault_tests = \
	test/fault/protect.t \
	test/fault/hang.t \
	test/fault/kill.t \
	test/fault/life.t \
	test/fault/replace.t
if HAVE_MPI
fault_tests += test/fault/storage.t
test_fault_storage_t_SOURCES = %D%/storage.c
test_fault_storage_t_CPPFLAGS = $(test_mpi_cppflags)
test_fault_storage_t_LDADD = src/libveloc.la $(test_mpi_ldadd)
endif
check_PROGRAMS += $(fault_tests)
TESTS += $(fault_tests)

test_fault_protect_t_SOURCES = %D%/protect.c test/tap/redlab.c test/tap/redlab.h \
	test/tap/sockjob.c test/tap/sockjob.h
test_fault_protect_t_CPPFLAGS = $(test_cppflags)
test_fault_protect_t_LDADD = $(test_ldadd)

test_fault_replace_t_SOURCES = %D%/replace.c
test_fault_replace_t_CPPFLAGS = $(test_cppflags)
test_fault_replace_t_LDADD = $(test_ldadd)

test_fault_kill_t_SOURCES = %D%/kill.c test/tap/seslab.c test/tap/seslab.h \
	test/tap/sockjob.c test/tap/sockjob.h
test_fault_kill_t_CPPFLAGS = $(test_cppflags)
test_fault_kill_t_LDADD = $(test_ldadd)

test_fault_hang_t_SOURCES = %D%/hang.c test/tap/seslab.c test/tap/seslab.h \
	test/tap/sockjob.c test/tap/sockjob.h
test_fault_hang_t_CPPFLAGS = $(test_cppflags)
test_fault_hang_t_LDADD = $(test_ldadd)

test_fault_life_t_SOURCES = %D%/life.c test/tap/seslab.c test/tap/seslab.h
test_fault_life_t_CPPFLAGS = $(test_cppflags)
test_fault_life_t_LDADD = $(test_ldadd)

.PHONY: check-fault
check-fault:
	@SEEDS='$(SEEDS)' $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(fault_tests)'
# End of test/fault
