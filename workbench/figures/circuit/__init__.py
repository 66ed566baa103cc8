"""Who reads whom: the circuit graph, and one of its connections over prefix length."""
