# unit tests of src/code
unit_tests += test/unit/code.t
test_unit_code_t_SOURCES = %D%/code.c
test_unit_code_t_CPPFLAGS = $(test_cppflags)
test_unit_code_t_LDADD = $(test_ldadd)
# End of test/unit/code
