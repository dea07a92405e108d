# test/lint - what the sources must look like.
lint_tests =
TESTS += $(lint_tests)
EXTRA_DIST += $(lint_tests)
# End of test/lint
