# test/lint
# End of test/lint
