# test/cluster - several nodes in one machine, and what happens when they are lost.
cluster_tests = \
	%D%/restart.t \
	%D%/again.t \
	%D%/lifecycle.t \
	%D%/nodes.t \
	%D%/loss.t \
	%D%/rebuild.t \
	%D%/slurm.t
TESTS += $(cluster_tests)
EXTRA_DIST += $(cluster_tests) %D%/vcluster %D%/vnode %D%/vrsh %D%/cluster.sh \
	%D%/slurm.sh %D%/solver.sh

check_PROGRAMS += test/cluster/probe
test_cluster_probe_SOURCES = %D%/probe.c
cluster_tests += %D%/cut.t %D%/kills.t %D%/odd.t
EXTRA_DIST += %D%/filer.sh
if HAVE_MPI
check_PROGRAMS += test/cluster/filer
test_cluster_filer_SOURCES = %D%/filer.c
test_cluster_filer_CPPFLAGS = $(vol_test_cppflags) -I$(top_srcdir)/include
test_cluster_filer_LDADD = $(HDF5_LIBS) $(MPI_LIBS)
endif
if HAVE_MPI
check_PROGRAMS += test/cluster/busy
test_cluster_busy_SOURCES = %D%/busy.c
test_cluster_busy_CPPFLAGS = $(test_mpi_cppflags)
test_cluster_busy_LDADD = $(MPI_LIBS)
check_PROGRAMS += test/cluster/redset
test_cluster_redset_SOURCES = %D%/redset.c
test_cluster_redset_CPPFLAGS = $(test_mpi_cppflags)
test_cluster_redset_LDADD = test/libcommmpi.la $(test_mpi_ldadd)
check_PROGRAMS += test/cluster/solver
test_cluster_solver_SOURCES = %D%/solver.c
test_cluster_solver_CPPFLAGS = -I$(top_srcdir)/include $(MPI_CFLAGS)
test_cluster_solver_LDADD = src/libveloc.la $(MPI_LIBS)
endif
# End of test/cluster
