# unit tests of src/base
unit_tests += \
	test/unit/buf.t \
	test/unit/crc.t \
	test/unit/err.t \
	test/unit/le.t \
	test/unit/log.t \
	test/unit/map.t \
	test/unit/path.t \
	test/unit/ranges.t \
	test/unit/rng.t \
	test/unit/runs.t \
	test/unit/vec.t
test_unit_buf_t_SOURCES = %D%/buf.c
test_unit_buf_t_CPPFLAGS = $(test_cppflags)
test_unit_buf_t_LDADD = $(test_ldadd)
test_unit_crc_t_SOURCES = %D%/crc.c
test_unit_crc_t_CPPFLAGS = $(test_cppflags)
test_unit_crc_t_LDADD = $(test_ldadd)
test_unit_err_t_SOURCES = %D%/err.c
test_unit_err_t_CPPFLAGS = $(test_cppflags)
test_unit_err_t_LDADD = $(test_ldadd)
test_unit_le_t_SOURCES = %D%/le.c
test_unit_le_t_CPPFLAGS = $(test_cppflags)
test_unit_le_t_LDADD = $(test_ldadd)
test_unit_log_t_SOURCES = %D%/log.c
test_unit_log_t_CPPFLAGS = $(test_cppflags)
test_unit_log_t_LDADD = $(test_ldadd)
test_unit_map_t_SOURCES = %D%/map.c
test_unit_map_t_CPPFLAGS = $(test_cppflags)
test_unit_map_t_LDADD = $(test_ldadd)
test_unit_path_t_SOURCES = %D%/path.c
test_unit_path_t_CPPFLAGS = $(test_cppflags)
test_unit_path_t_LDADD = $(test_ldadd)
test_unit_ranges_t_SOURCES = %D%/ranges.c
test_unit_ranges_t_CPPFLAGS = $(test_cppflags)
test_unit_ranges_t_LDADD = $(test_ldadd)
test_unit_rng_t_SOURCES = %D%/rng.c
test_unit_rng_t_CPPFLAGS = $(test_cppflags)
test_unit_rng_t_LDADD = $(test_ldadd)
test_unit_runs_t_SOURCES = %D%/runs.c
test_unit_runs_t_CPPFLAGS = $(test_cppflags)
test_unit_runs_t_LDADD = $(test_ldadd)
test_unit_vec_t_SOURCES = %D%/vec.c
test_unit_vec_t_CPPFLAGS = $(test_cppflags)
test_unit_vec_t_LDADD = $(test_ldadd)
# End of test/unit/base
