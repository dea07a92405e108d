# test/bench - one program per question; `make bench` builds and runs them (BENCH=pattern).
# A program prints rows through bench.c, which is the one place that knows how to measure.
bench_programs = test/bench/copy_speed
EXTRA_PROGRAMS += $(bench_programs)
CLEANFILES += $(bench_programs)
EXTRA_DIST += %D%/run.sh
bench_sources = %D%/bench.c %D%/bench.h

test_bench_copy_speed_SOURCES = %D%/copy_speed.c $(bench_sources)
test_bench_copy_speed_CPPFLAGS = $(test_cppflags)
test_bench_copy_speed_LDADD = src/libveloc_core.la

.PHONY: bench
bench: $(bench_programs)
	@top_srcdir='$(top_srcdir)' $(SHELL) $(srcdir)/%D%/run.sh $(bench_programs)
# End of test/bench
