# test/model - the node leader's decisions as models, all states of which spin looks at.
model_tests = %D%/model.t
TESTS += $(model_tests)
EXTRA_DIST += $(model_tests) %D%/follows.pml %D%/ledger.pml %D%/number.pml %D%/publish.pml \
	%D%/sealing.pml %D%/view.pml
# End of test/model
