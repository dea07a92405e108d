# unit tests of src/record
# End of test/unit/record
