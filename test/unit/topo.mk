# unit tests of src/topo
unit_tests += test/unit/split.t
test_unit_split_t_SOURCES = %D%/split.c test/tap/splitlab.c test/tap/splitlab.h
test_unit_split_t_CPPFLAGS = $(test_cppflags)
test_unit_split_t_LDADD = $(test_ldadd)
unit_tests += test/unit/splitsock.t
test_unit_splitsock_t_SOURCES = %D%/splitsock.c test/tap/sockjob.c test/tap/sockjob.h \
	test/tap/splitlab.c test/tap/splitlab.h
test_unit_splitsock_t_CPPFLAGS = $(test_cppflags)
test_unit_splitsock_t_LDADD = $(test_ldadd)
unit_tests += test/unit/splitmany.t
test_unit_splitmany_t_SOURCES = %D%/splitmany.c test/tap/crowd.c test/tap/crowd.h \
	test/tap/splitlab.c test/tap/splitlab.h
test_unit_splitmany_t_CPPFLAGS = $(test_cppflags)
test_unit_splitmany_t_LDADD = $(test_ldadd)
unit_tests += test/unit/sortnet.t
test_unit_sortnet_t_SOURCES = %D%/sortnet.c
test_unit_sortnet_t_CPPFLAGS = $(test_cppflags)
test_unit_sortnet_t_LDADD = $(test_ldadd)
unit_tests += test/unit/group.t
test_unit_group_t_SOURCES = %D%/group.c test/tap/topolab.c test/tap/topolab.h
test_unit_group_t_CPPFLAGS = $(test_cppflags)
test_unit_group_t_LDADD = $(test_ldadd)
unit_tests += test/unit/store.t
test_unit_store_t_SOURCES = %D%/store.c test/tap/topolab.c test/tap/topolab.h
test_unit_store_t_CPPFLAGS = $(test_cppflags)
test_unit_store_t_LDADD = $(test_ldadd)
unit_tests += test/unit/reddesc.t
test_unit_reddesc_t_SOURCES = %D%/reddesc.c test/tap/topolab.c test/tap/topolab.h
test_unit_reddesc_t_CPPFLAGS = $(test_cppflags)
test_unit_reddesc_t_LDADD = $(test_ldadd)
unit_tests += test/unit/topo_check.t
test_unit_topo_check_t_SOURCES = %D%/topo_check.c test/tap/topolab.c test/tap/topolab.h
test_unit_topo_check_t_CPPFLAGS = $(test_cppflags)
test_unit_topo_check_t_LDADD = $(test_ldadd)
# End of test/unit/topo
