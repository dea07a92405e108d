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
unit_tests += test/unit/regroup.t
test_unit_regroup_t_SOURCES = %D%/regroup.c test/tap/redlab.c test/tap/redlab.h \
	test/tap/sockjob.c test/tap/sockjob.h
test_unit_regroup_t_CPPFLAGS = $(test_cppflags)
test_unit_regroup_t_LDADD = $(test_ldadd)
unit_tests += test/unit/redsize.t
test_unit_redsize_t_SOURCES = %D%/redsize.c test/tap/redlab.c test/tap/redlab.h \
	test/tap/sockjob.c test/tap/sockjob.h test/tap/sparse.c test/tap/sparse.h
test_unit_redsize_t_CPPFLAGS = $(test_cppflags)
test_unit_redsize_t_LDADD = $(test_ldadd)
unit_tests += test/unit/reddelta.t
test_unit_reddelta_t_SOURCES = %D%/reddelta.c test/tap/crowd.c test/tap/crowd.h \
	test/tap/redlab.c test/tap/redlab.h
test_unit_reddelta_t_CPPFLAGS = $(test_cppflags)
test_unit_reddelta_t_LDADD = $(test_ldadd)

unit_tests += test/unit/redsum.t
test_unit_redsum_t_SOURCES = %D%/redsum.c
test_unit_redsum_t_CPPFLAGS = $(test_cppflags)
test_unit_redsum_t_LDADD = $(test_ldadd)
slow_tests += test/unit/redlarge.t
test_unit_redlarge_t_SOURCES = %D%/redlarge.c test/tap/redlab.c test/tap/redlab.h \
	test/tap/sockjob.c test/tap/sockjob.h test/tap/sparse.c test/tap/sparse.h
test_unit_redlarge_t_CPPFLAGS = $(test_cppflags)
test_unit_redlarge_t_LDADD = $(test_ldadd)
unit_tests += test/unit/redloss.t
test_unit_redloss_t_SOURCES = %D%/redloss.c test/tap/redlab.c test/tap/redlab.h \
	test/tap/sockjob.c test/tap/sockjob.h
test_unit_redloss_t_CPPFLAGS = $(test_cppflags)
test_unit_redloss_t_LDADD = $(test_ldadd)
unit_tests += test/unit/plan.t
test_unit_plan_t_SOURCES = %D%/plan.c
test_unit_plan_t_CPPFLAGS = $(test_cppflags)
test_unit_plan_t_LDADD = $(test_ldadd)
# End of test/unit/red
