"""The bench of the diagnosis: models whose cause of failure past N is planted, and so known."""
