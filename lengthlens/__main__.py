"""``python -m lengthlens`` is the command ``lengthlens``."""

from lengthlens import main

main()
