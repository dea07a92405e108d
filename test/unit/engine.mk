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
unit_tests += test/unit/freeing.t
test_unit_freeing_t_SOURCES = %D%/freeing.c $(seslab_sources)
test_unit_freeing_t_CPPFLAGS = $(test_cppflags)
test_unit_freeing_t_LDADD = $(test_ldadd) -lpthread
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
behindlab_sources = test/tap/behindlab.c test/tap/behindlab.h \
	test/tap/standin.c test/tap/standin.h \
	test/tap/standin_in.h test/tap/standin_work.c test/tap/crowd.c test/tap/crowd.h \
	test/tap/crewlab.c test/tap/crewlab.h test/tap/seslab.c test/tap/seslab.h
unit_tests += test/unit/alone.t
test_unit_alone_t_SOURCES = %D%/alone.c $(behindlab_sources)
test_unit_alone_t_CPPFLAGS = $(test_cppflags)
test_unit_alone_t_LDADD = $(test_ldadd) -lpthread
unit_tests += test/unit/behind.t
test_unit_behind_t_SOURCES = %D%/behind.c $(behindlab_sources)
test_unit_behind_t_CPPFLAGS = $(test_cppflags)
test_unit_behind_t_LDADD = $(test_ldadd) -lpthread
unit_tests += test/unit/behind_past.t
test_unit_behind_past_t_SOURCES = %D%/behind_past.c $(behindlab_sources)
test_unit_behind_past_t_CPPFLAGS = $(test_cppflags)
test_unit_behind_past_t_LDADD = $(test_ldadd) -lpthread
unit_tests += test/unit/settlement.t
test_unit_settlement_t_SOURCES = %D%/settlement.c
test_unit_settlement_t_CPPFLAGS = $(test_cppflags)
test_unit_settlement_t_LDADD = $(test_ldadd)
unit_tests += test/unit/devices.t
test_unit_devices_t_SOURCES = %D%/devices.c $(seslab_sources)
test_unit_devices_t_CPPFLAGS = $(test_cppflags)
test_unit_devices_t_LDADD = test/sdk/libsdk.la $(test_ldadd)
unit_tests += test/unit/takeover.t
takelab_sources = test/tap/takelab.c test/tap/takelab.h $(seslab_sources) test/tap/sockjob.c test/tap/sockjob.h
test_unit_takeover_t_SOURCES = %D%/takeover.c $(takelab_sources)
test_unit_takeover_t_CPPFLAGS = $(test_cppflags)
test_unit_takeover_t_LDADD = test/sdk/libsdk.la $(test_ldadd)
slow_tests += test/unit/takeover_crash.t
test_unit_takeover_crash_t_SOURCES = %D%/takeover_crash.c $(takelab_sources)
test_unit_takeover_crash_t_CPPFLAGS = $(test_cppflags)
test_unit_takeover_crash_t_LDADD = test/sdk/libsdk.la $(test_ldadd)
# End of test/unit/engine
