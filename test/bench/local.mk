# test/bench
# End of test/bench
