# unit tests of src/log
unit_tests += test/unit/journal.t test/unit/journalsweep.t
test_unit_journal_t_SOURCES = %D%/journal.c
test_unit_journal_t_CPPFLAGS = $(test_cppflags)
test_unit_journal_t_LDADD = $(test_ldadd)
test_unit_journalsweep_t_SOURCES = %D%/journalsweep.c
test_unit_journalsweep_t_CPPFLAGS = $(test_cppflags)
test_unit_journalsweep_t_LDADD = $(test_ldadd)
# End of test/unit/log
