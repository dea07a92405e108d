# test/fault
# End of test/fault
