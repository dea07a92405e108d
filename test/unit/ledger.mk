# unit tests of src/ledger
unit_tests += test/unit/ledger.t test/unit/ledgerchairs.t test/unit/ledgerdamage.t test/unit/ledgersweep.t
test_unit_ledger_t_SOURCES = %D%/ledger.c
test_unit_ledger_t_CPPFLAGS = $(test_cppflags)
test_unit_ledger_t_LDADD = $(test_ldadd)
test_unit_ledgerchairs_t_SOURCES = %D%/ledgerchairs.c
test_unit_ledgerchairs_t_CPPFLAGS = $(test_cppflags)
test_unit_ledgerchairs_t_LDADD = $(test_ldadd)
test_unit_ledgerdamage_t_SOURCES = %D%/ledgerdamage.c
test_unit_ledgerdamage_t_CPPFLAGS = $(test_cppflags)
test_unit_ledgerdamage_t_LDADD = $(test_ldadd)
test_unit_ledgersweep_t_SOURCES = %D%/ledgersweep.c
test_unit_ledgersweep_t_CPPFLAGS = $(test_cppflags)
test_unit_ledgersweep_t_LDADD = $(test_ldadd)
# End of test/unit/ledger
