# unit tests of src/sys
unit_tests += \
	test/unit/fs_replace.t
test_unit_fs_replace_t_SOURCES = %D%/fs_replace.c
test_unit_fs_replace_t_CPPFLAGS = $(test_cppflags)
test_unit_fs_replace_t_LDADD = $(test_ldadd)
# End of test/unit/sys
