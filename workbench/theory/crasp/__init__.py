"""The language C-RASP[periodic, local]: syntax, text, evaluation, and the programs of the literature."""
