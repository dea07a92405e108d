# The libraries. core_sources is filled by the rooms; a room never links by itself.
# calls within a library are its own: no program puts a function of the same name in between
own_calls = -Wl,-Bsymbolic-functions
lib_LTLIBRARIES += %D%/libveloc_core.la
core_sources =
include %D%/base/local.mk
include %D%/sys/local.mk
include %D%/log/local.mk
include %D%/ledger/local.mk
include %D%/facts/local.mk
include %D%/conf/local.mk
include %D%/record/local.mk
include %D%/comm/local.mk
include %D%/code/local.mk
include %D%/topo/local.mk
include %D%/red/local.mk
include %D%/meta/local.mk
include %D%/xfer/local.mk
include %D%/brain/local.mk
include %D%/ident/local.mk
include %D%/view/local.mk
include %D%/link/local.mk
include %D%/jobs/local.mk
include %D%/pull/local.mk
include %D%/recover/local.mk
include %D%/engine/local.mk
include %D%/node/local.mk
include %D%/process/local.mk

%C%_libveloc_core_la_SOURCES = $(core_sources) %D%/core.map
%C%_libveloc_core_la_CPPFLAGS = $(AM_CPPFLAGS) $(ISAL_CFLAGS) $(JANSSON_CFLAGS) \
	-DH5VELOC_SYSCONFDIR='"$(sysconfdir)"' -DH5VELOC_TRANSPORTDIR='"$(transportdir)"'
# ISA-L and jansson are loaded, not linked: base/library.h
%C%_libveloc_core_la_LIBADD = -lm
# nodelete: its threads work on when HDF5 unloads the plug-in that has brought it
%C%_libveloc_core_la_LDFLAGS = $(AM_LDFLAGS) -Wl,-z,nodelete $(own_calls) $(H5V_SOFLAGS) -no-undefined -version-info 0:0:0 \
	-Wl,--version-script=$(srcdir)/%D%/core.map
EXTRA_%C%_libveloc_core_la_DEPENDENCIES = %D%/core.map

include %D%/xfer/modules.mk
include %D%/api/local.mk
include %D%/cmd/local.mk
# End of src
