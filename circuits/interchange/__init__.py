"""Whether what a model computes from one prefix works at another length."""
