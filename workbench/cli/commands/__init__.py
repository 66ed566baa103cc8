"""The commands of ``lengthlens``, a file each."""
