# test/unit - one program per module, named like it; a list per room.
unit_tests =
include %D%/base.mk
include %D%/sys.mk
include %D%/conf.mk
include %D%/record.mk
include %D%/code.mk
include %D%/comm.mk
include %D%/red.mk
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
# End of test/unit
