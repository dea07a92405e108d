# test/vol
# End of test/vol
