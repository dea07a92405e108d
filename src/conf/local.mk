# conf - the table of settings and the files and variables that fill it.
core_sources +=
# End of conf
