# doc - architecture, formats, man pages.
# End of doc
