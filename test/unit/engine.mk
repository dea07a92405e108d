# unit tests of src/engine
unit_tests += test/unit/policy.t
test_unit_policy_t_SOURCES = %D%/policy.c
test_unit_policy_t_CPPFLAGS = $(test_cppflags)
test_unit_policy_t_LDADD = $(test_ldadd) -lm
unit_tests += test/unit/cost.t
test_unit_cost_t_SOURCES = %D%/cost.c test/tap/crowd.c test/tap/crowd.h
test_unit_cost_t_CPPFLAGS = $(test_cppflags)
test_unit_cost_t_LDADD = $(test_ldadd) -lpthread
seslab_sources = test/tap/seslab.c test/tap/seslab.h
unit_tests += test/unit/session.t
test_unit_session_t_SOURCES = %D%/session.c $(seslab_sources)
test_unit_session_t_CPPFLAGS = $(test_cppflags)
test_unit_session_t_LDADD = $(test_ldadd)
unit_tests += test/unit/session_past.t
test_unit_session_past_t_SOURCES = %D%/session_past.c $(seslab_sources) \
	test/tap/crowd.c test/tap/crowd.h
test_unit_session_past_t_CPPFLAGS = $(test_cppflags)
test_unit_session_past_t_LDADD = $(test_ldadd) -lpthread
unit_tests += test/unit/ranks.t
test_unit_ranks_t_SOURCES = %D%/ranks.c test/tap/crowd.c test/tap/crowd.h
test_unit_ranks_t_CPPFLAGS = $(test_cppflags)
test_unit_ranks_t_LDADD = $(test_ldadd) -lpthread
unit_tests += test/unit/complete.t
test_unit_complete_t_SOURCES = %D%/complete.c test/tap/crowd.c test/tap/crowd.h test/tap/seslab.c test/tap/seslab.h
test_unit_complete_t_CPPFLAGS = $(test_cppflags)
test_unit_complete_t_LDADD = $(test_ldadd) -lpthread
unit_tests += test/unit/devices.t
test_unit_devices_t_SOURCES = %D%/devices.c $(seslab_sources)
test_unit_devices_t_CPPFLAGS = $(test_cppflags)
test_unit_devices_t_LDADD = test/sdk/libsdk.la $(test_ldadd)
# End of test/unit/engine
