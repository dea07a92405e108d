# test/sdk - stand-ins for what vendors' transfer services are called by, and the plug-ins of
# src/xfer built with them, whatever SDK is there.
check_LTLIBRARIES += test/sdk/libsdk.la test/sdk/fake.la test/sdk/bbapi.la test/sdk/cppr.la \
	test/sdk/datawarp.la
sdk_cppflags = $(test_cppflags) -I$(srcdir)/%D%/bbapi -I$(srcdir)/%D%/cppr -I$(srcdir)/%D%/datawarp

test_sdk_libsdk_la_SOURCES = %D%/sdk.c %D%/sdk.h \
	%D%/bbapi/bbapi.c %D%/bbapi/bbapi.h \
	%D%/cppr/cppr.c %D%/cppr/cppr.h \
	%D%/datawarp/datawarp.c %D%/datawarp/datawarp.h
test_sdk_libsdk_la_CPPFLAGS = $(sdk_cppflags)
test_sdk_libsdk_la_LDFLAGS = $(AM_LDFLAGS) -avoid-version -shared -rpath /nowhere
test_sdk_libsdk_la_LIBADD = test/libtap.la src/libveloc_core.la

sdk_ldflags = $(transport_ldflags) -rpath /nowhere
sdk_libadd = test/sdk/libsdk.la src/libveloc_core.la
test_sdk_fake_la_SOURCES = %D%/fake.c
test_sdk_fake_la_CPPFLAGS = $(sdk_cppflags)
test_sdk_fake_la_LDFLAGS = $(sdk_ldflags)
test_sdk_fake_la_LIBADD = $(sdk_libadd)
test_sdk_bbapi_la_SOURCES = src/xfer/bbapi.c
test_sdk_bbapi_la_CPPFLAGS = $(sdk_cppflags)
test_sdk_bbapi_la_LDFLAGS = $(sdk_ldflags)
test_sdk_bbapi_la_LIBADD = $(sdk_libadd)
test_sdk_cppr_la_SOURCES = src/xfer/cppr.c
test_sdk_cppr_la_CPPFLAGS = $(sdk_cppflags)
test_sdk_cppr_la_LDFLAGS = $(sdk_ldflags)
test_sdk_cppr_la_LIBADD = $(sdk_libadd)
test_sdk_datawarp_la_SOURCES = src/xfer/datawarp.c
test_sdk_datawarp_la_CPPFLAGS = $(sdk_cppflags)
test_sdk_datawarp_la_LDFLAGS = $(sdk_ldflags)
test_sdk_datawarp_la_LIBADD = $(sdk_libadd)
# End of test/sdk
