"""Training that can be computed: gradient flow in closed form."""
