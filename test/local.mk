# test - see test/README.md for which kind of test lives where.
# The extension of a test is the number of its ranks; .t runs alone.
TEST_EXTENSIONS = .t .np1 .np2 .np4 .np8
TAP_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
T_LOG_DRIVER = $(TAP_DRIVER)
NP1_LOG_DRIVER = $(TAP_DRIVER)
NP2_LOG_DRIVER = $(TAP_DRIVER)
NP4_LOG_DRIVER = $(TAP_DRIVER)
NP8_LOG_DRIVER = $(TAP_DRIVER)

check_LTLIBRARIES += test/libtap.la
test_libtap_la_SOURCES = \
	%D%/tap/files.c %D%/tap/files.h \
	%D%/tap/seeds.c %D%/tap/seeds.h \
	%D%/tap/sweep.c %D%/tap/sweep.h \
	%D%/tap/tap.c %D%/tap/tap.h
test_libtap_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test
test_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/test $(JANSSON_CFLAGS)
test_ldadd = test/libtap.la src/libveloc_core.la

include %D%/unit/local.mk
include %D%/mpi/local.mk
include %D%/cmd/local.mk
include %D%/vol/local.mk
include %D%/cluster/local.mk
include %D%/fault/local.mk
include %D%/fuzz/local.mk
include %D%/lint/local.mk
include %D%/bench/local.mk
# End of test
