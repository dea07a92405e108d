# unit tests of src/facts
unit_tests += test/unit/facts.t
test_unit_facts_t_SOURCES = %D%/facts.c
test_unit_facts_t_CPPFLAGS = $(test_cppflags)
test_unit_facts_t_LDADD = $(test_ldadd)
# End of test/unit/facts
