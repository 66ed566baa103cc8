"""Suites on "The Role of Sparsity for Length Generalization in Transformers", arXiv 2502.16792."""
