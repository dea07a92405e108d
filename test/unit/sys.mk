# unit tests of src/sys
# End of test/unit/sys
