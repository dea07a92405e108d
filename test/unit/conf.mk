# unit tests of src/conf
# End of test/unit/conf
