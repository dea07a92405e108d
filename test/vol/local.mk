# test/vol - the connector as a program sees it. HDF5_PLUGIN_PATH is set by AM_TESTS_ENVIRONMENT.
# Scripts; those that are campaigns also run with the seeds of make check-fault.
vol_campaigns = %D%/early.t %D%/mixed.t %D%/prompt.t
vol_scripts = %D%/agent.t %D%/alike.t %D%/beside.t %D%/both.t %D%/brief.t %D%/events.t %D%/examples.t %D%/exits.t %D%/family.t %D%/fewer.t %D%/habits.t %D%/halt.t %D%/hdf5.t %D%/names.t %D%/onrestart.t \
	%D%/foreign.t %D%/locks.t %D%/moved.t %D%/over.t %D%/points.t %D%/readers.t %D%/settings.t %D%/self.t %D%/shared.t %D%/stores.t %D%/swmr.t %D%/sync.t %D%/taken.t %D%/told.t %D%/tools.t %D%/twice.t %D%/unseen.t
vol_programs = test/vol/asks.t test/vol/ends.t test/vol/errors.t test/vol/files.t test/vol/full.t test/vol/info_text.t \
	test/vol/plugin.t test/vol/restarts.t test/vol/turns.t
vol_tests = $(vol_campaigns) $(vol_scripts) $(vol_programs)
fault_scripts += $(vol_campaigns) test/vol/turns.t
check_PROGRAMS += $(vol_programs) test/vol/brief test/vol/ender test/vol/exits test/vol/habit test/vol/loads test/vol/pause test/vol/placed \
	test/vol/point
TESTS += $(vol_tests)
EXTRA_DIST += $(vol_campaigns) $(vol_scripts) %D%/shared.sh
vol_test_cppflags = $(test_cppflags) $(HDF5_CFLAGS) $(MPI_CFLAGS)
vol_test_ldadd = test/libtap.la $(HDF5_LIBS) $(MPI_LIBS)

test_vol_asks_t_SOURCES = %D%/asks.c
test_vol_asks_t_CPPFLAGS = $(vol_test_cppflags)
test_vol_asks_t_LDADD = test/liblab.la $(vol_test_ldadd) src/libveloc_core.la
if PARALLEL_HDF5
check_PROGRAMS += test/vol/both
test_vol_both_SOURCES = %D%/both.c
test_vol_both_CPPFLAGS = $(test_cppflags) $(HDF5_CFLAGS) $(MPI_CFLAGS)
test_vol_both_LDADD = src/libveloc.la $(HDF5_LIBS) $(MPI_LIBS)
check_PROGRAMS += test/vol/mpio
test_vol_mpio_SOURCES = %D%/mpio.c
test_vol_mpio_CPPFLAGS = $(HDF5_CFLAGS) $(MPI_CFLAGS)
test_vol_mpio_LDADD = $(HDF5_LIBS) $(MPI_LIBS)
endif
if HAVE_MPI
vol_tests += %D%/baton.t %D%/partial.t
fault_scripts += %D%/baton.t
check_PROGRAMS += test/vol/baton test/vol/versions
test_vol_baton_SOURCES = %D%/baton.c
test_vol_baton_CPPFLAGS = $(HDF5_CFLAGS) $(MPI_CFLAGS)
test_vol_baton_LDADD = $(HDF5_LIBS) $(MPI_LIBS) -ldl
test_vol_baton_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
test_vol_versions_SOURCES = %D%/versions.c
test_vol_versions_CPPFLAGS = $(HDF5_CFLAGS) $(MPI_CFLAGS) -I$(top_srcdir)/include
test_vol_versions_LDADD = $(HDF5_LIBS) $(MPI_LIBS)
endif
EXTRA_DIST += %D%/baton.t %D%/partial.t
test_vol_brief_SOURCES = %D%/brief.c
test_vol_brief_CPPFLAGS = $(HDF5_CFLAGS) $(MPI_CFLAGS)
test_vol_brief_LDADD = $(HDF5_LIBS) $(MPI_LIBS)
test_vol_ends_t_SOURCES = %D%/ends.c
test_vol_ends_t_CPPFLAGS = $(vol_test_cppflags)
test_vol_ends_t_LDADD = test/liblab.la $(vol_test_ldadd) src/libveloc_core.la
test_vol_errors_t_SOURCES = %D%/errors.c
test_vol_errors_t_CPPFLAGS = $(vol_test_cppflags)
test_vol_errors_t_LDADD = $(vol_test_ldadd)
test_vol_exits_SOURCES = %D%/exits.c
test_vol_exits_CPPFLAGS = $(HDF5_CFLAGS) $(MPI_CFLAGS)
test_vol_exits_LDADD = $(HDF5_LIBS) $(MPI_LIBS)
test_vol_files_t_SOURCES = %D%/files.c
test_vol_files_t_CPPFLAGS = $(vol_test_cppflags)
test_vol_files_t_LDADD = test/liblab.la $(vol_test_ldadd) src/libveloc_core.la
test_vol_full_t_SOURCES = %D%/full.c
test_vol_full_t_CPPFLAGS = $(vol_test_cppflags)
test_vol_full_t_LDADD = test/liblab.la $(vol_test_ldadd) src/libveloc_core.la
vol_tests += test/vol/growth.t test/vol/live.t
check_PROGRAMS += test/vol/live.t
test_vol_live_t_SOURCES = %D%/live.c %D%/writer.c %D%/writer.h
test_vol_live_t_CPPFLAGS = $(vol_test_cppflags)
test_vol_live_t_LDADD = $(vol_test_ldadd) src/libveloc_core.la
check_PROGRAMS += test/vol/growth.t
test_vol_growth_t_SOURCES = %D%/growth.c
test_vol_growth_t_CPPFLAGS = $(vol_test_cppflags)
test_vol_growth_t_LDADD = $(vol_test_ldadd)
test_vol_habit_SOURCES = %D%/habit.c
test_vol_habit_CPPFLAGS = $(HDF5_CFLAGS) $(MPI_CFLAGS)
test_vol_habit_LDADD = $(HDF5_LIBS) $(MPI_LIBS)
check_PROGRAMS += test/vol/hand
test_vol_hand_SOURCES = %D%/hand.c
test_vol_hand_CPPFLAGS = $(HDF5_CFLAGS) $(MPI_CFLAGS)
test_vol_hand_LDADD = $(HDF5_LIBS) $(MPI_LIBS)
vol_tests += test/vol/handles.t
check_PROGRAMS += test/vol/handles.t
test_vol_handles_t_SOURCES = %D%/handles.c
test_vol_handles_t_CPPFLAGS = $(vol_test_cppflags)
test_vol_handles_t_LDADD = $(vol_test_ldadd)
vol_tests += test/vol/transcript.t
check_PROGRAMS += test/vol/transcript.t
test_vol_transcript_t_SOURCES = %D%/transcript.c
test_vol_transcript_t_CPPFLAGS = $(vol_test_cppflags)
test_vol_transcript_t_LDADD = $(vol_test_ldadd)
vol_tests += test/vol/held.t
check_PROGRAMS += test/vol/held.t
test_vol_held_t_SOURCES = %D%/held.c
test_vol_held_t_CPPFLAGS = $(vol_test_cppflags)
test_vol_held_t_LDADD = test/liblab.la $(vol_test_ldadd) src/libveloc_core.la
test_vol_info_text_t_SOURCES = %D%/info_text.c vol/info_text.c vol/info_text.h
test_vol_info_text_t_CPPFLAGS = $(test_cppflags) -I$(top_srcdir)/vol
test_vol_info_text_t_LDADD = test/libtap.la
test_vol_ender_SOURCES = %D%/ender.c
test_vol_ender_CPPFLAGS = $(test_cppflags)
test_vol_ender_LDADD = $(test_ldadd)
test_vol_loads_SOURCES = %D%/loads.c
test_vol_loads_LDADD = -ldl
test_vol_pause_SOURCES = %D%/pause.c
test_vol_pause_CPPFLAGS = $(HDF5_CFLAGS) $(MPI_CFLAGS)
test_vol_pause_LDADD = $(HDF5_LIBS) $(MPI_LIBS)
test_vol_placed_SOURCES = %D%/placed.c
test_vol_placed_CPPFLAGS = $(test_cppflags)
test_vol_placed_LDADD = $(test_ldadd)
test_vol_point_SOURCES = %D%/point.c
test_vol_point_CPPFLAGS = $(HDF5_CFLAGS) $(MPI_CFLAGS) -I$(top_srcdir)/include
test_vol_point_LDADD = $(HDF5_LIBS) $(MPI_LIBS)
test_vol_point_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
test_vol_plugin_t_SOURCES = %D%/plugin.c
test_vol_plugin_t_CPPFLAGS = $(vol_test_cppflags)
test_vol_plugin_t_LDADD = $(vol_test_ldadd)
test_vol_restarts_t_SOURCES = %D%/restarts.c
test_vol_restarts_t_CPPFLAGS = $(vol_test_cppflags)
test_vol_restarts_t_LDADD = $(vol_test_ldadd)
test_vol_turns_t_SOURCES = %D%/turns.c
test_vol_turns_t_CPPFLAGS = $(test_cppflags)
test_vol_turns_t_LDADD = $(test_ldadd)

# HDF5's own tests, and its examples, which take some minutes
EXTRA_DIST += %D%/hdf5_examples.t
.PHONY: check-hdf5 check-hdf5-examples
check-hdf5: ; $(MAKE) $(AM_MAKEFLAGS) check TESTS='test/vol/hdf5.t test/vol/hdf5_examples.t'
check-hdf5-examples: ; $(MAKE) $(AM_MAKEFLAGS) check TESTS='test/vol/hdf5_examples.t'
# End of test/vol
