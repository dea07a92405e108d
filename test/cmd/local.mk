# test/cmd - the tools, as their users call them.
cmd_tests =
TESTS += $(cmd_tests)
EXTRA_DIST += $(cmd_tests)
# End of test/cmd
