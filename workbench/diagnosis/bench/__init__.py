"""Models whose cause of failure past N is planted, and so known."""
