# cmd - one file per tool, and what they share.
# End of cmd
