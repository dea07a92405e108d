# h5examples - small programs to copy from, built and run by make check.
# End of h5examples
