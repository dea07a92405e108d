# test/cmd - tools, configure and the demonstration, as a user meets them.
cmd_tests = \
	test/cmd/agent.t \
	test/cmd/agent_role.t \
	test/cmd/configure.t \
	test/cmd/demo.t \
	test/cmd/elsewhere.t \
	test/cmd/heat.t \
	test/cmd/ls.t \
	test/cmd/prerun.t \
	test/cmd/rebuild.t \
	test/cmd/redset.t \
	test/cmd/schema.t \
	test/cmd/schema_scr.t \
	test/cmd/scrub.t \
	test/cmd/veloc_heat.t
TESTS += $(cmd_tests)
EXTRA_DIST += $(cmd_tests) test/cmd/agentlab.sh test/cmd/fits_schema.py test/fresh/debian-programs.sh test/fresh/fresh-debian.sh
EXTRA_DIST += \
	test/data/conf/README test/data/conf/bad.expected \
	$(conf_data) \
	test/data/ls/README $(ls_data)
ls_data = \
	test/data/ls/announced.expected \
	test/data/ls/complete.expected \
	test/data/ls/corrupt.expected \
	test/data/ls/encoding.expected \
	test/data/ls/failed.expected \
	test/data/ls/flushed.expected \
	test/data/ls/flushing.expected \
	test/data/ls/fresh.expected \
	test/data/ls/garbage.expected \
	test/data/ls/member-lost.expected \
	test/data/ls/too-many-lost.expected \
	test/data/ls/unreadable.expected
conf_data = \
	test/data/conf/bad-binary.conf \
	test/data/conf/bad-bool.conf \
	test/data/conf/bad-choice.conf \
	test/data/conf/bad-continued.conf \
	test/data/conf/bad-dollar.conf \
	test/data/conf/bad-duplicate-child.conf \
	test/data/conf/bad-duplicate-line.conf \
	test/data/conf/bad-duplicate.conf \
	test/data/conf/bad-equals-in-value.conf \
	test/data/conf/bad-failures.conf \
	test/data/conf/bad-group-setting.conf \
	test/data/conf/bad-group.conf \
	test/data/conf/bad-groups-differ.conf \
	test/data/conf/bad-ini-bool.conf \
	test/data/conf/bad-ini-key.conf \
	test/data/conf/bad-ini-section.conf \
	test/data/conf/bad-ini-value.conf \
	test/data/conf/bad-launch.conf \
	test/data/conf/bad-host-mtbf.conf \
	test/data/conf/bad-level.conf \
	test/data/conf/bad-mtbf-group.conf \
	test/data/conf/bad-mtbf-names.conf \
	test/data/conf/bad-no-children.conf \
	test/data/conf/bad-no-equals.conf \
	test/data/conf/bad-no-first-level.conf \
	test/data/conf/bad-no-groups.conf \
	test/data/conf/bad-no-value.conf \
	test/data/conf/bad-number.conf \
	test/data/conf/bad-parent.conf \
	test/data/conf/bad-pattern.conf \
	test/data/conf/bad-pfs.conf \
	test/data/conf/bad-range.conf \
	test/data/conf/bad-relative-cache.conf \
	test/data/conf/bad-relative-control.conf \
	test/data/conf/bad-relative-store.conf \
	test/data/conf/bad-size.conf \
	test/data/conf/bad-unknown-child.conf \
	test/data/conf/bad-unknown-far.conf \
	test/data/conf/bad-unknown-key.conf \
	test/data/conf/bad-user-name.conf \
	test/data/conf/bad-value.conf \
	test/data/conf/bad-variable.conf \
	test/data/conf/bad-world-group.conf \
	test/data/conf/bad-zero.conf \
	test/data/conf/good-groups.conf \
	test/data/conf/good-levels.conf \
	test/data/conf/good-mtbf.conf \
	test/data/conf/good-schema.conf \
	test/data/conf/good-scr-old.conf \
	test/data/conf/good-scr.conf \
	test/data/conf/good-store.conf \
	test/data/conf/good-system.conf \
	test/data/conf/good-tokens.conf \
	test/data/conf/good-user.conf \
	test/data/conf/good-veloc.cfg

check_PROGRAMS += test/cmd/protect
test_cmd_protect_SOURCES = %D%/protect.c
test_cmd_protect_CPPFLAGS = $(test_cppflags)
test_cmd_protect_LDADD = $(test_ldadd)
check_PROGRAMS += test/cmd/lslab
test_cmd_lslab_SOURCES = %D%/lslab.c
test_cmd_lslab_CPPFLAGS = $(test_cppflags)
test_cmd_lslab_LDADD = $(test_ldadd)
if HAVE_MPI
check_PROGRAMS += test/cmd/steps
test_cmd_steps_SOURCES = %D%/steps.c
test_cmd_steps_CPPFLAGS = -I$(top_srcdir)/include $(MPI_CFLAGS)
test_cmd_steps_LDADD = src/libveloc.la $(MPI_LIBS)
check_PROGRAMS += test/cmd/obey
test_cmd_obey_SOURCES = %D%/obey.c
test_cmd_obey_CPPFLAGS = -I$(top_srcdir)/include $(MPI_CFLAGS)
test_cmd_obey_LDADD = src/libveloc.la $(MPI_LIBS)
endif
# End of test/cmd
