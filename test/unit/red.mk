# unit tests of src/red
unit_tests += test/unit/red.t
test_unit_red_t_SOURCES = %D%/red.c test/tap/redlab.c test/tap/redlab.h
test_unit_red_t_CPPFLAGS = $(test_cppflags)
test_unit_red_t_LDADD = $(test_ldadd)
unit_tests += test/unit/redsock.t
test_unit_redsock_t_SOURCES = %D%/redsock.c test/tap/redcases.c test/tap/redcases.h \
	test/tap/redlab.c test/tap/redlab.h test/tap/sockjob.c test/tap/sockjob.h
test_unit_redsock_t_CPPFLAGS = $(test_cppflags)
test_unit_redsock_t_LDADD = $(test_ldadd)
# End of test/unit/red
