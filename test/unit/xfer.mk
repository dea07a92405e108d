# unit tests of src/xfer
unit_tests += \
	test/unit/bbapi.t \
	test/unit/copy.t \
	test/unit/cppr.t \
	test/unit/datawarp.t \
	test/unit/paced.t \
	test/unit/stands.t \
	test/unit/temp.t \
	test/unit/throttle.t \
	test/unit/transport.t
test_unit_copy_t_SOURCES = %D%/copy.c
test_unit_copy_t_CPPFLAGS = $(test_cppflags)
test_unit_copy_t_LDADD = $(test_ldadd)
test_unit_paced_t_SOURCES = %D%/paced.c
test_unit_paced_t_CPPFLAGS = $(test_cppflags)
test_unit_paced_t_LDADD = $(test_ldadd)
test_unit_stands_t_SOURCES = %D%/stands.c
test_unit_stands_t_CPPFLAGS = $(test_cppflags)
test_unit_stands_t_LDADD = $(test_ldadd)
test_unit_temp_t_SOURCES = %D%/temp.c
test_unit_temp_t_CPPFLAGS = $(test_cppflags)
test_unit_temp_t_LDADD = $(test_ldadd)
test_unit_throttle_t_SOURCES = %D%/throttle.c
test_unit_throttle_t_CPPFLAGS = $(test_cppflags)
test_unit_throttle_t_LDADD = $(test_ldadd)
test_unit_bbapi_t_SOURCES = %D%/bbapi.c
test_unit_bbapi_t_CPPFLAGS = $(test_cppflags)
test_unit_bbapi_t_LDADD = test/sdk/libsdk.la $(test_ldadd)
test_unit_cppr_t_SOURCES = %D%/cppr.c
test_unit_cppr_t_CPPFLAGS = $(test_cppflags)
test_unit_cppr_t_LDADD = test/sdk/libsdk.la $(test_ldadd)
test_unit_datawarp_t_SOURCES = %D%/datawarp.c
test_unit_datawarp_t_CPPFLAGS = $(test_cppflags)
test_unit_datawarp_t_LDADD = test/sdk/libsdk.la $(test_ldadd)
test_unit_transport_t_SOURCES = %D%/transport.c
test_unit_transport_t_CPPFLAGS = $(test_cppflags)
test_unit_transport_t_LDADD = test/sdk/libsdk.la $(test_ldadd)
unit_tests += test/unit/crew.t test/unit/fetch.t
test_unit_crew_t_SOURCES = %D%/crew.c
test_unit_crew_t_CPPFLAGS = $(test_cppflags)
test_unit_crew_t_LDADD = $(test_ldadd) -lpthread
test_unit_fetch_t_SOURCES = %D%/fetch.c
test_unit_fetch_t_CPPFLAGS = $(test_cppflags)
test_unit_fetch_t_LDADD = $(test_ldadd) -lpthread
unit_tests += test/unit/copy_resume.t
test_unit_copy_resume_t_SOURCES = %D%/copy_resume.c
test_unit_copy_resume_t_CPPFLAGS = $(test_cppflags)
test_unit_copy_resume_t_LDADD = $(test_ldadd)
# End of test/unit/xfer
