# unit tests of src/recover
unit_tests += test/unit/stream.t test/unit/revive.t
test_unit_stream_t_SOURCES = %D%/stream.c test/tap/crowd.c test/tap/crowd.h
test_unit_stream_t_CPPFLAGS = $(test_cppflags)
test_unit_stream_t_LDADD = $(test_ldadd) -lpthread
test_unit_revive_t_SOURCES = %D%/revive.c $(seslab_sources)
test_unit_revive_t_CPPFLAGS = $(test_cppflags)
test_unit_revive_t_LDADD = $(test_ldadd) -lpthread
unit_tests += test/unit/revive_again.t
test_unit_revive_again_t_SOURCES = %D%/revive_again.c $(seslab_sources)
test_unit_revive_again_t_CPPFLAGS = $(test_cppflags)
test_unit_revive_again_t_LDADD = $(test_ldadd) -lpthread
# End of test/unit/recover
