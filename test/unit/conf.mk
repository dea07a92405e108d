# unit tests of src/conf
unit_tests += test/unit/conf.t
test_unit_conf_t_SOURCES = %D%/conf.c
test_unit_conf_t_CPPFLAGS = $(test_cppflags)
test_unit_conf_t_LDADD = $(test_ldadd)
unit_tests += test/unit/conf_load.t
test_unit_conf_load_t_SOURCES = %D%/conf_load.c
test_unit_conf_load_t_CPPFLAGS = $(test_cppflags)
test_unit_conf_load_t_LDADD = $(test_ldadd)
unit_tests += test/unit/conf_shared.t
test_unit_conf_shared_t_SOURCES = %D%/conf_shared.c
test_unit_conf_shared_t_CPPFLAGS = $(test_cppflags)
test_unit_conf_shared_t_LDADD = $(test_ldadd)
unit_tests += test/unit/conf_texts.t
test_unit_conf_texts_t_SOURCES = %D%/conf_texts.c
test_unit_conf_texts_t_CPPFLAGS = $(test_cppflags)
test_unit_conf_texts_t_LDADD = $(test_ldadd)
unit_tests += test/unit/rules.t
test_unit_rules_t_SOURCES = %D%/rules.c
test_unit_rules_t_CPPFLAGS = $(test_cppflags)
test_unit_rules_t_LDADD = $(test_ldadd)
# End of test/unit/conf
