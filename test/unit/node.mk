# unit tests of src/node
node_tests = test/unit/dataset_state.t test/unit/launch_state.t test/unit/leaderpage.t \
	test/unit/messages.t
unit_tests += $(node_tests)
machinelab = test/tap/machinelab.c test/tap/machinelab.h

test_unit_dataset_state_t_SOURCES = %D%/dataset_state.c $(machinelab)
test_unit_dataset_state_t_CPPFLAGS = $(test_cppflags)
test_unit_dataset_state_t_LDADD = $(test_ldadd)

test_unit_launch_state_t_SOURCES = %D%/launch_state.c $(machinelab)
test_unit_launch_state_t_CPPFLAGS = $(test_cppflags)
test_unit_launch_state_t_LDADD = $(test_ldadd)

test_unit_leaderpage_t_SOURCES = %D%/leaderpage.c
test_unit_leaderpage_t_CPPFLAGS = $(test_cppflags)
test_unit_leaderpage_t_LDADD = $(test_ldadd)

test_unit_messages_t_SOURCES = %D%/messages.c
test_unit_messages_t_CPPFLAGS = $(test_cppflags)
test_unit_messages_t_LDADD = $(test_ldadd)
# End of test/unit/node
