# unit tests of src/recover
unit_tests += test/unit/bring.t test/unit/bring_again.t test/unit/kept.t
test_unit_bring_t_SOURCES = %D%/bring.c
test_unit_bring_t_CPPFLAGS = $(test_cppflags)
test_unit_bring_t_LDADD = $(test_ldadd) -lpthread
test_unit_bring_again_t_SOURCES = %D%/bring_again.c
test_unit_bring_again_t_CPPFLAGS = $(test_cppflags)
test_unit_bring_again_t_LDADD = $(test_ldadd) -lpthread
test_unit_kept_t_SOURCES = %D%/kept.c
test_unit_kept_t_CPPFLAGS = $(test_cppflags)
test_unit_kept_t_LDADD = $(test_ldadd)
# End of test/unit/recover
