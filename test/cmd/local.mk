# test/cmd - tools, configure and the demonstration, as a user meets them.
cmd_tests = test/cmd/configure.t test/cmd/demo.t
TESTS += $(cmd_tests)
EXTRA_DIST += $(cmd_tests) test/fresh/fresh-debian.sh
# End of test/cmd
