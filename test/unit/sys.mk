# unit tests of src/sys
unit_tests += \
	test/unit/clock.t \
	test/unit/fs.t \
	test/unit/fs_dir.t \
	test/unit/fs_fault.t \
	test/unit/fs_replace.t \
	test/unit/fs_limit.t \
	test/unit/fs_twin.t \
	test/unit/fs_watch.t \
	test/unit/host.t \
	test/unit/lock.t \
	test/unit/logfile.t \
	test/unit/pages.t \
	test/unit/queue.t \
	test/unit/user_dir.t
test_unit_clock_t_SOURCES = %D%/clock.c
test_unit_clock_t_CPPFLAGS = $(test_cppflags)
test_unit_clock_t_LDADD = $(test_ldadd)
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
test_unit_fs_limit_t_SOURCES = %D%/fs_limit.c
test_unit_fs_limit_t_CPPFLAGS = $(test_cppflags)
test_unit_fs_limit_t_LDADD = $(test_ldadd)
test_unit_fs_twin_t_SOURCES = %D%/fs_twin.c
test_unit_fs_twin_t_CPPFLAGS = $(test_cppflags)
test_unit_fs_twin_t_LDADD = $(test_ldadd)
test_unit_fs_watch_t_SOURCES = %D%/fs_watch.c
test_unit_fs_watch_t_CPPFLAGS = $(test_cppflags)
test_unit_fs_watch_t_LDADD = $(test_ldadd)
test_unit_host_t_SOURCES = %D%/host.c
test_unit_host_t_CPPFLAGS = $(test_cppflags)
test_unit_host_t_LDADD = $(test_ldadd)
test_unit_lock_t_SOURCES = %D%/lock.c
test_unit_lock_t_CPPFLAGS = $(test_cppflags)
test_unit_lock_t_LDADD = $(test_ldadd)
test_unit_logfile_t_SOURCES = %D%/logfile.c
test_unit_logfile_t_CPPFLAGS = $(test_cppflags)
test_unit_logfile_t_LDADD = $(test_ldadd)
test_unit_pages_t_SOURCES = %D%/pages.c
test_unit_pages_t_CPPFLAGS = $(test_cppflags)
test_unit_pages_t_LDADD = $(test_ldadd)
test_unit_queue_t_SOURCES = %D%/queue.c
test_unit_queue_t_CPPFLAGS = $(test_cppflags)
test_unit_queue_t_LDADD = $(test_ldadd)
test_unit_user_dir_t_SOURCES = %D%/user_dir.c
test_unit_user_dir_t_CPPFLAGS = $(test_cppflags)
test_unit_user_dir_t_LDADD = $(test_ldadd)
# End of test/unit/sys
