"""From a C-RASP program to the weights of a transformer that computes it."""
