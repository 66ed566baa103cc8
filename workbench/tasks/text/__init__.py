"""Next-byte prediction on the files of a folder."""
