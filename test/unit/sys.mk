# unit tests of src/sys
unit_tests += \
	test/unit/fs.t \
	test/unit/fs_dir.t \
	test/unit/fs_fault.t \
	test/unit/fs_replace.t
test_unit_fs_t_SOURCES = %D%/fs.c
test_unit_fs_t_CPPFLAGS = $(test_cppflags)
test_unit_fs_t_LDADD = $(test_ldadd)
test_unit_fs_dir_t_SOURCES = %D%/fs_dir.c
test_unit_fs_dir_t_CPPFLAGS = $(test_cppflags)
test_unit_fs_dir_t_LDADD = $(test_ldadd)
test_unit_fs_fault_t_SOURCES = %D%/fs_fault.c
test_unit_fs_fault_t_CPPFLAGS = $(test_cppflags)
test_unit_fs_fault_t_LDADD = $(test_ldadd)
test_unit_fs_replace_t_SOURCES = %D%/fs_replace.c
test_unit_fs_replace_t_CPPFLAGS = $(test_cppflags)
test_unit_fs_replace_t_LDADD = $(test_ldadd)
# End of test/unit/sys
