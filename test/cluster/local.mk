# test/cluster
# End of test/cluster
