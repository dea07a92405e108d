# unit tests of src/comm
unit_tests += test/unit/comm.t
test_unit_comm_t_SOURCES = %D%/comm.c
test_unit_comm_t_CPPFLAGS = $(test_cppflags)
test_unit_comm_t_LDADD = $(test_ldadd)
unit_tests += test/unit/proof.t
test_unit_proof_t_SOURCES = %D%/proof.c
test_unit_proof_t_CPPFLAGS = $(test_cppflags)
test_unit_proof_t_LDADD = $(test_ldadd)

unit_tests += test/unit/siphash.t
test_unit_siphash_t_SOURCES = %D%/siphash.c
test_unit_siphash_t_CPPFLAGS = $(test_cppflags)
test_unit_siphash_t_LDADD = $(test_ldadd)
unit_tests += test/unit/commsock.t
test_unit_commsock_t_SOURCES = %D%/commsock.c
test_unit_commsock_t_CPPFLAGS = $(test_cppflags)
test_unit_commsock_t_LDADD = $(test_ldadd)
unit_tests += test/unit/commloss.t
test_unit_commloss_t_SOURCES = %D%/commloss.c
test_unit_commloss_t_CPPFLAGS = $(test_cppflags)
test_unit_commloss_t_LDADD = $(test_ldadd)
unit_tests += test/unit/commrelay.t
test_unit_commrelay_t_SOURCES = %D%/commrelay.c
test_unit_commrelay_t_CPPFLAGS = $(test_cppflags)
test_unit_commrelay_t_LDADD = $(test_ldadd)
unit_tests += test/unit/commkeep.t
test_unit_commkeep_t_SOURCES = %D%/commkeep.c
test_unit_commkeep_t_CPPFLAGS = $(test_cppflags)
test_unit_commkeep_t_LDADD = $(test_ldadd)
# End of test/unit/comm
