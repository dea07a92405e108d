# test/fuzz - one target per decoder. make check replays the corpora; `make fuzz` builds the targets
# with clang's libFuzzer and runs each for FUZZ_SECONDS (60), new inputs going to the build's
# fuzz-corpus/. Checksums are not looked at there, since a fuzzer cannot guess them.
fuzz_names = conf_parse descriptor_decode digest_decode entry_decode fact_decode filelist_decode \
	filemap_decode frame_decode image_decode leader_decode ledger_decode link_hear node_decode parity_decode record_decode \
	texts_decode
fuzz_tests = \
	test/fuzz/conf_parse.t \
	test/fuzz/descriptor_decode.t \
	test/fuzz/digest_decode.t \
	test/fuzz/entry_decode.t \
	test/fuzz/fact_decode.t \
	test/fuzz/filelist_decode.t \
	test/fuzz/filemap_decode.t \
	test/fuzz/frame_decode.t \
	test/fuzz/image_decode.t \
	test/fuzz/leader_decode.t \
	test/fuzz/ledger_decode.t \
	test/fuzz/link_hear.t \
	test/fuzz/node_decode.t \
	test/fuzz/parity_decode.t \
	test/fuzz/record_decode.t \
	test/fuzz/texts_decode.t
check_PROGRAMS += $(fuzz_tests)
TESTS += $(fuzz_tests)
EXTRA_DIST += %D%/run.sh \
	test/fuzz/corpus/README \
	test/fuzz/corpus/conf_parse/bad-choice.conf \
	test/fuzz/corpus/conf_parse/bad-continued.conf \
	test/fuzz/corpus/conf_parse/bad-dollar.conf \
	test/fuzz/corpus/conf_parse/bad-duplicate.conf \
	test/fuzz/corpus/conf_parse/bad-equals-in-value.conf \
	test/fuzz/corpus/conf_parse/bad-group.conf \
	test/fuzz/corpus/conf_parse/bad-ini-section.conf \
	test/fuzz/corpus/conf_parse/bad-store.conf \
	test/fuzz/corpus/conf_parse/good-groups.conf \
	test/fuzz/corpus/conf_parse/good-levels.conf \
	test/fuzz/corpus/conf_parse/good-schema.conf \
	test/fuzz/corpus/conf_parse/good-system.conf \
	test/fuzz/corpus/conf_parse/good-tokens.conf \
	test/fuzz/corpus/conf_parse/good-user.conf \
	test/fuzz/corpus/conf_parse/good-veloc.cfg \
	test/fuzz/corpus/descriptor_decode/disabled \
	test/fuzz/corpus/descriptor_decode/losses \
	test/fuzz/corpus/descriptor_decode/outside \
	test/fuzz/corpus/descriptor_decode/rs \
	test/fuzz/corpus/descriptor_decode/single \
	test/fuzz/corpus/digest_decode/two \
	test/fuzz/corpus/digest_decode/wrong \
	test/fuzz/corpus/entry_decode/flushing \
	test/fuzz/corpus/entry_decode/wrong \
	test/fuzz/corpus/fact_decode/dataset \
	test/fuzz/corpus/fact_decode/node \
	test/fuzz/corpus/fact_decode/wrong \
	test/fuzz/corpus/filelist_decode/containers \
	test/fuzz/corpus/filelist_decode/outside \
	test/fuzz/corpus/filelist_decode/plain \
	test/fuzz/corpus/filemap_decode/levelless \
	test/fuzz/corpus/filemap_decode/xor \
	test/fuzz/corpus/frame_decode/alarm-empty.hex \
	test/fuzz/corpus/frame_decode/alarms.hex \
	test/fuzz/corpus/frame_decode/alive-nobody.hex \
	test/fuzz/corpus/frame_decode/changed.hex \
	test/fuzz/corpus/frame_decode/hello.hex \
	test/fuzz/corpus/frame_decode/long.hex \
	test/fuzz/corpus/frame_decode/messages.hex \
	test/fuzz/corpus/frame_decode/wrong-length.hex \
	test/fuzz/corpus/image_decode/empty.hex \
	test/fuzz/corpus/image_decode/plain.hex \
	test/fuzz/corpus/image_decode/two.hex \
	test/fuzz/corpus/leader_decode/bad-endpoint-epoch \
	test/fuzz/corpus/leader_decode/bad-launch-kind \
	test/fuzz/corpus/leader_decode/bad-launch-name \
	test/fuzz/corpus/leader_decode/bad-seal-id \
	test/fuzz/corpus/leader_decode/bad-seal-node \
	test/fuzz/corpus/leader_decode/bad-seal-short \
	test/fuzz/corpus/leader_decode/bad-seal-verdict \
	test/fuzz/corpus/leader_decode/bad-seals-outside \
	test/fuzz/corpus/leader_decode/good-endpoint \
	test/fuzz/corpus/leader_decode/good-launch \
	test/fuzz/corpus/leader_decode/good-seal \
	test/fuzz/corpus/leader_decode/good-seals \
	test/fuzz/corpus/ledger_decode/begin-lost \
	test/fuzz/corpus/ledger_decode/both-lost \
	test/fuzz/corpus/ledger_decode/end \
	test/fuzz/corpus/ledger_decode/other-name \
	test/fuzz/corpus/ledger_decode/torn \
	test/fuzz/corpus/ledger_decode/whole \
	test/fuzz/corpus/ledger_decode/wrong-tails \
	test/fuzz/corpus/link_hear/leader.hex \
	test/fuzz/corpus/link_hear/lies.hex \
	test/fuzz/corpus/link_hear/process.hex \
	test/fuzz/corpus/link_hear/stranger.hex \
	test/fuzz/corpus/node_decode/create.hex \
	test/fuzz/corpus/node_decode/hello.hex \
	test/fuzz/corpus/node_decode/held.hex \
	test/fuzz/corpus/node_decode/lies.hex \
	test/fuzz/corpus/parity_decode/partner.hex \
	test/fuzz/corpus/parity_decode/xor.hex \
	test/fuzz/corpus/record_decode/kinds \
	test/fuzz/corpus/record_decode/number \
	test/fuzz/corpus/record_decode/other-type \
	test/fuzz/corpus/record_decode/short \
	test/fuzz/corpus/texts_decode/cut.hex \
	test/fuzz/corpus/texts_decode/two.hex

check_LTLIBRARIES += test/fuzz/libreplay.la
test_fuzz_libreplay_la_SOURCES = %D%/replay.c %D%/fuzz.h
test_fuzz_libreplay_la_CPPFLAGS = $(test_cppflags)
test_fuzz_libreplay_la_LDFLAGS = $(AM_LDFLAGS)

test_fuzz_conf_parse_t_SOURCES = %D%/conf_parse.c
test_fuzz_conf_parse_t_CPPFLAGS = $(test_cppflags)
test_fuzz_conf_parse_t_LDADD = test/fuzz/libreplay.la $(test_ldadd)

test_fuzz_descriptor_decode_t_SOURCES = %D%/descriptor_decode.c
test_fuzz_descriptor_decode_t_CPPFLAGS = $(test_cppflags)
test_fuzz_descriptor_decode_t_LDADD = test/fuzz/libreplay.la $(test_ldadd)

test_fuzz_digest_decode_t_SOURCES = %D%/digest_decode.c
test_fuzz_digest_decode_t_CPPFLAGS = $(test_cppflags)
test_fuzz_digest_decode_t_LDADD = test/fuzz/libreplay.la $(test_ldadd)

test_fuzz_entry_decode_t_SOURCES = %D%/entry_decode.c
test_fuzz_entry_decode_t_CPPFLAGS = $(test_cppflags)
test_fuzz_entry_decode_t_LDADD = test/fuzz/libreplay.la $(test_ldadd)

test_fuzz_fact_decode_t_SOURCES = %D%/fact_decode.c
test_fuzz_fact_decode_t_CPPFLAGS = $(test_cppflags)
test_fuzz_fact_decode_t_LDADD = test/fuzz/libreplay.la $(test_ldadd)

test_fuzz_filelist_decode_t_SOURCES = %D%/filelist_decode.c
test_fuzz_filelist_decode_t_CPPFLAGS = $(test_cppflags)
test_fuzz_filelist_decode_t_LDADD = test/fuzz/libreplay.la $(test_ldadd)

test_fuzz_filemap_decode_t_SOURCES = %D%/filemap_decode.c
test_fuzz_filemap_decode_t_CPPFLAGS = $(test_cppflags)
test_fuzz_filemap_decode_t_LDADD = test/fuzz/libreplay.la $(test_ldadd)

test_fuzz_frame_decode_t_SOURCES = %D%/frame_decode.c
test_fuzz_frame_decode_t_CPPFLAGS = $(test_cppflags)
test_fuzz_frame_decode_t_LDADD = test/fuzz/libreplay.la $(test_ldadd)

test_fuzz_image_decode_t_SOURCES = %D%/image_decode.c
test_fuzz_image_decode_t_CPPFLAGS = $(test_cppflags)
test_fuzz_image_decode_t_LDADD = test/fuzz/libreplay.la $(memory_ldadd)

test_fuzz_leader_decode_t_SOURCES = %D%/leader_decode.c
test_fuzz_leader_decode_t_CPPFLAGS = $(test_cppflags)
test_fuzz_leader_decode_t_LDADD = test/fuzz/libreplay.la $(test_ldadd)

test_fuzz_ledger_decode_t_SOURCES = %D%/ledger_decode.c
test_fuzz_ledger_decode_t_CPPFLAGS = $(test_cppflags)
test_fuzz_ledger_decode_t_LDADD = test/fuzz/libreplay.la $(test_ldadd)

test_fuzz_link_hear_t_SOURCES = %D%/link_hear.c
test_fuzz_link_hear_t_CPPFLAGS = $(test_cppflags)
test_fuzz_link_hear_t_LDADD = test/fuzz/libreplay.la $(test_ldadd)

test_fuzz_node_decode_t_SOURCES = %D%/node_decode.c
test_fuzz_node_decode_t_CPPFLAGS = $(test_cppflags)
test_fuzz_node_decode_t_LDADD = test/fuzz/libreplay.la $(test_ldadd)

test_fuzz_parity_decode_t_SOURCES = %D%/parity_decode.c
test_fuzz_parity_decode_t_CPPFLAGS = $(test_cppflags)
test_fuzz_parity_decode_t_LDADD = test/fuzz/libreplay.la $(test_ldadd)

test_fuzz_record_decode_t_SOURCES = %D%/record_decode.c
test_fuzz_record_decode_t_CPPFLAGS = $(test_cppflags)
test_fuzz_record_decode_t_LDADD = test/fuzz/libreplay.la $(test_ldadd)

test_fuzz_texts_decode_t_SOURCES = %D%/texts_decode.c
test_fuzz_texts_decode_t_CPPFLAGS = $(test_cppflags)
test_fuzz_texts_decode_t_LDADD = test/fuzz/libreplay.la $(test_ldadd)

FUZZ_SECONDS = 60
.PHONY: fuzz
fuzz:
	@top_srcdir='$(abs_top_srcdir)' FUZZ_SECONDS='$(FUZZ_SECONDS)' \
	SOURCES='$(core_sources) $(src_libmemory_la_SOURCES)' \
	CPPFLAGS='-I. $(test_cppflags) $(ISAL_CFLAGS)' \
	LIBS='$(ISAL_LIBS) $(JANSSON_LIBS) -lm -lpthread' \
	$(SHELL) $(srcdir)/%D%/run.sh $(fuzz_names)
# End of test/fuzz
