# test/fuzz
# End of test/fuzz
