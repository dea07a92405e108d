# vol - the HDF5 plug-in of this flavour.
# End of vol
