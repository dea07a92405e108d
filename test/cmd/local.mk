# test/cmd
# End of test/cmd
