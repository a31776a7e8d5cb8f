# Everything is in make.py, which also runs by itself: python3 make.py help
PYTHON ?= python3

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-rest test-all test-fast test-core check docs bench validate-scenarios validate-radio validate-statistics test-docs dist cluster clean
help setup demo test test-rest test-all test-fast test-core check docs bench validate-scenarios validate-radio validate-statistics test-docs dist cluster clean:
	@$(PYTHON) make.py $@ $(ARGS)
