# unit tests of src/api that need no MPI
unit_tests += \
	test/unit/image.t \
	test/unit/image_place.t \
	test/unit/image_damage.t \
	test/unit/image_name.t \
	test/unit/regions.t \
	test/unit/selection.t
EXTRA_DIST += test/data/image/README test/data/image/v1.hex
memory_ldadd = src/libmemory.la $(test_ldadd)
test_unit_image_t_SOURCES = %D%/image.c
test_unit_image_t_CPPFLAGS = $(test_cppflags)
test_unit_image_t_LDADD = $(memory_ldadd)
test_unit_image_place_t_SOURCES = %D%/image_place.c
test_unit_image_place_t_CPPFLAGS = $(test_cppflags)
test_unit_image_place_t_LDADD = $(memory_ldadd)
test_unit_image_damage_t_SOURCES = %D%/image_damage.c
test_unit_image_damage_t_CPPFLAGS = $(test_cppflags)
test_unit_image_damage_t_LDADD = $(memory_ldadd)
test_unit_image_name_t_SOURCES = %D%/image_name.c
test_unit_image_name_t_CPPFLAGS = $(test_cppflags)
test_unit_image_name_t_LDADD = $(memory_ldadd)
test_unit_regions_t_SOURCES = %D%/regions.c
test_unit_regions_t_CPPFLAGS = $(test_cppflags)
test_unit_regions_t_LDADD = $(memory_ldadd)
test_unit_selection_t_SOURCES = %D%/selection.c
test_unit_selection_t_CPPFLAGS = $(test_cppflags)
test_unit_selection_t_LDADD = $(memory_ldadd)
# End of test/unit/api
