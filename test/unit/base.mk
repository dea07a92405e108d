# unit tests of src/base
unit_tests += test/unit/err.t
test_unit_err_t_SOURCES = %D%/err.c
test_unit_err_t_CPPFLAGS = $(test_cppflags)
test_unit_err_t_LDADD = $(test_ldadd)
# End of test/unit/base
