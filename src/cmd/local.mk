# cmd - one file per tool, and what they share.
noinst_LTLIBRARIES += src/libtool_common.la
src_libtool_common_la_SOURCES = %D%/tool.c %D%/tool.h
src_libtool_common_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
src_libtool_common_la_LDFLAGS = $(AM_LDFLAGS)
tool_cppflags = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tool_ldadd = src/libtool_common.la src/libveloc_core.la

bin_PROGRAMS += src/cmd/h5veloc-schema
src_cmd_h5veloc_schema_SOURCES = %D%/schema.c %D%/schema_print.c %D%/schema_print.h
src_cmd_h5veloc_schema_CPPFLAGS = $(tool_cppflags)
src_cmd_h5veloc_schema_LDADD = $(tool_ldadd)
src_cmd_h5veloc_schema_LDFLAGS = $(h5v_ldflags)

bin_PROGRAMS += src/cmd/h5veloc-rebuild
src_cmd_h5veloc_rebuild_SOURCES = %D%/rebuild.c %D%/scrub.c %D%/scrub.h
src_cmd_h5veloc_rebuild_CPPFLAGS = $(tool_cppflags)
src_cmd_h5veloc_rebuild_LDADD = $(tool_ldadd)
src_cmd_h5veloc_rebuild_LDFLAGS = $(h5v_ldflags)

bin_PROGRAMS += src/cmd/h5veloc-agent
src_cmd_h5veloc_agent_SOURCES = %D%/agent.c %D%/agent_ask.c %D%/agent_ask.h
src_cmd_h5veloc_agent_CPPFLAGS = $(tool_cppflags)
src_cmd_h5veloc_agent_LDADD = $(tool_ldadd)
src_cmd_h5veloc_agent_LDFLAGS = $(h5v_ldflags)

bin_PROGRAMS += src/cmd/h5veloc-prerun
src_cmd_h5veloc_prerun_SOURCES = %D%/prerun.c
src_cmd_h5veloc_prerun_CPPFLAGS = $(tool_cppflags)
src_cmd_h5veloc_prerun_LDADD = $(tool_ldadd)
src_cmd_h5veloc_prerun_LDFLAGS = $(h5v_ldflags)

bin_PROGRAMS += src/cmd/h5veloc-unpack
src_cmd_h5veloc_unpack_SOURCES = %D%/unpack.c
src_cmd_h5veloc_unpack_CPPFLAGS = $(tool_cppflags)
src_cmd_h5veloc_unpack_LDADD = $(tool_ldadd)
src_cmd_h5veloc_unpack_LDFLAGS = $(h5v_ldflags)

bin_PROGRAMS += src/cmd/h5veloc-ls
src_cmd_h5veloc_ls_SOURCES = \
	%D%/ls.c %D%/ls.h \
	%D%/ls_ask.c \
	%D%/ls_away.c \
	%D%/ls_files.c \
	%D%/ls_find.c \
	%D%/ls_h5.c \
	%D%/ls_json.c \
	%D%/ls_judge.c \
	%D%/ls_opened.c \
	%D%/ls_read.c \
	%D%/ls_rows.c \
	%D%/ls_text.c \
	%D%/ls_there.c
src_cmd_h5veloc_ls_CPPFLAGS = $(tool_cppflags)
src_cmd_h5veloc_ls_LDADD = $(tool_ldadd)
src_cmd_h5veloc_ls_LDFLAGS = $(h5v_ldflags)
# End of cmd
