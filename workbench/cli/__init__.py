"""The command ``lengthlens``: options, messages and progress; the commands themselves are in ``commands``."""
