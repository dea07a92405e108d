# unit tests of src/record
unit_tests += test/unit/record.t
test_unit_record_t_SOURCES = %D%/record.c
test_unit_record_t_CPPFLAGS = $(test_cppflags)
test_unit_record_t_LDADD = $(test_ldadd)
# End of test/unit/record
