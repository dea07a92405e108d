# unit tests of src/conf
unit_tests += test/unit/conf.t
test_unit_conf_t_SOURCES = %D%/conf.c
test_unit_conf_t_CPPFLAGS = $(test_cppflags)
test_unit_conf_t_LDADD = $(test_ldadd)
# End of test/unit/conf
